// Texts of the section "Onward".
export const onward = {
  "tab.onward": ["Onward", "Ausblick", "La suite"],

  "onward.heads": ["One matrix, several heads", "Eine Matrix, mehrere Köpfe", "Une matrice, plusieurs têtes"],
  "onward.heads.text": [
    "Most code makes the queries of all *heads* with one matrix, then cuts the result: each head gets some *features* of every *token*. Afterwards the heads are joined again.",
    "Der meiste Code erzeugt die Querys aller *Köpfe* mit einer Matrix und teilt dann das Ergebnis: Jeder Kopf bekommt einige *Merkmale* jedes *Tokens*. Danach werden die Köpfe wieder vereint.",
    "La plupart des programmes produisent les requêtes de toutes les *têtes* avec une matrice, puis coupent le résultat : chaque tête reçoit quelques *caractéristiques* de chaque *token*. Ensuite, on réunit les têtes."],
  "onward.heads.do.right": [
    "Press 17 or another number, and see where it goes. Then try it by view alone.",
    "Drück auf 17 oder eine andere Zahl und sieh, wohin sie geht. Probier es dann mit view allein.",
    "Appuyez sur 17 ou un autre nombre, et voyez où il va. Essayez ensuite avec view seul."],
  "onward.heads.do.split_view": [
    "The shape is right, the numbers are not: heads get pieces of the sentence instead of pieces of each token.",
    "Die Form stimmt, die Zahlen nicht: Köpfe bekommen Stücke des Satzes statt Stücke jedes Tokens.",
    "La forme est juste, les nombres non : les têtes reçoivent des morceaux de la phrase au lieu de morceaux de chaque token."],
  "onward.heads.do.merge_view": [
    "The shape is right, the numbers are not: token 0 gets features of tokens after it, which no mask prevents.",
    "Die Form stimmt, die Zahlen nicht: Token 0 bekommt Merkmale späterer Tokens, und keine Maske verhindert das.",
    "La forme est juste, les nombres non : le token 0 reçoit des caractéristiques de tokens suivants, et aucun masque ne l’empêche."],
  "onward.heads.right": ["right", "richtig", "juste"],
  "onward.heads.split_view": ["split by view", "mit view geteilt", "coupées par view"],
  "onward.heads.merge_view": ["merged by view", "mit view vereint", "réunies par view"],
  "onward.heads.count": ["{0} heads", "{0} Köpfe", "{0} têtes"],

  "places.label": ["Where each number goes", "Wohin jede Zahl geht", "Où va chaque nombre"],
  "places.x": ["tokens", "Tokens", "tokens"],
  "places.split": ["split", "geteilt", "coupés"],
  "places.merged": ["merged", "vereint", "réunis"],
  "places.head": ["head {0}", "Kopf {0}", "tête {0}"],
  "places.from": ["{0} is feature {1} of token {2}.", "{0} ist Merkmal {1} von Token {2}.", "{0} est la caractéristique {1} du token {2}."],
  "places.to": ["It goes to head {0}, row {1}, feature {2}.", "Sie geht zu Kopf {0}, Zeile {1}, Merkmal {2}.", "Il va à la tête {0}, ligne {1}, caractéristique {2}."],
  "places.to.wrong": [
    "It goes to head {0}, row {1}, feature {2}; it should go to head {3}, row {4}.",
    "Sie geht zu Kopf {0}, Zeile {1}, Merkmal {2}; richtig wäre Kopf {3}, Zeile {4}.",
    "Il va à la tête {0}, ligne {1}, caractéristique {2} ; il devrait aller à la tête {3}, ligne {4}."],
  "places.back": ["Merged, it is back in its place.", "Vereint ist sie wieder an ihrem Platz.", "Réuni, il est de retour à sa place."],
  "places.back.wrong": ["Merged, it is feature {0} of token {1}.", "Vereint ist sie Merkmal {0} von Token {1}.", "Réuni, il est la caractéristique {0} du token {1}."],

  "onward.cache": ["Writing, word by word", "Wort für Wort schreiben", "Écrire, mot par mot"],
  "onward.cache.text": [
    "A model that writes asks one new *query* for each word. The *keys* and *values* of the words before have not changed, so it keeps them: that is the **cache**.",
    "Ein Modell, das schreibt, stellt für jedes Wort eine neue *Query*. Die *Keys* und *Values* der Wörter davor haben sich nicht geändert, also behält es sie: Das ist der **Cache**.",
    "Un modèle qui écrit pose une nouvelle *requête* par mot. Les *clés* et *valeurs* des mots précédents n’ont pas changé, donc il les garde : c’est le **cache**."],
  "onward.cache.learning": ["A model is being trained …", "Ein Modell wird trainiert …", "Un modèle s’entraîne …"],
  "onward.cache.first": [
    "It reads all {6} words at once, keeps their keys and values, and writes “{2}” ({3}). Write on, with the button or →.",
    "Es liest alle {6} Wörter auf einmal, behält ihre Keys und Values und schreibt „{2}“ ({3}). Lass es weiterschreiben, mit dem Knopf oder →.",
    "Il lit les {6} mots d’un coup, garde leurs clés et valeurs, et écrit « {2} » ({3}). Continuez, avec le bouton ou →."],
  "onward.cache.step": [
    "It reads “{0}” alone, asks the {1} kept keys and the new one, looks most at “{4}” ({5}) and writes “{2}” ({3}).",
    "Es liest nur „{0}“, fragt die {1} behaltenen Keys und den neuen, achtet am meisten auf „{4}“ ({5}) und schreibt „{2}“ ({3}).",
    "Il ne lit que « {0} », interroge les {1} clés gardées et la nouvelle, regarde surtout « {4} » ({5}) et écrit « {2} » ({3})."],
  "onward.cache.picture": ["The new query, the kept keys and values, and the percentages; beside them what a model without a cache computes again", "Die neue Query, die behaltenen Keys und Values und die Prozentwerte; daneben, was ein Modell ohne Cache noch einmal rechnet", "La nouvelle requête, les clés et valeurs gardées et les pourcentages ; à côté, ce qu’un modèle sans cache recalcule"],
  "onward.cache.prompt": ["Begin with", "Beginne mit", "Commencer par"],
  "onward.cache.back": ["One word back", "Ein Wort zurück", "Un mot en arrière"],
  "onward.cache.write": ["Write on", "Weiterschreiben", "Continuer"],
  "onward.cache.end": ["(the end)", "(das Ende)", "(la fin)"],
  "onward.cache.length": ["The sentence needs 1 to {0} words.", "Der Satz braucht 1 bis {0} Wörter.", "La phrase doit avoir de 1 à {0} mots."],
  "onward.cache.unknown": ["The model does not know: {0}. The tab “{1}” shows which words it knows.", "Das Modell kennt nicht: {0}. Der Tab „{1}“ zeigt, welche Wörter es kennt.", "Le modèle ne connaît pas : {0}. L’onglet « {1} » montre les mots qu’il connaît."],
  "onward.cache.with": ["With a cache", "Mit Cache", "Avec un cache"],
  "onward.cache.without": ["Without a cache", "Ohne Cache", "Sans cache"],
  "onward.cache.with.short": ["with", "mit", "avec"],
  "onward.cache.without.short": ["without", "ohne", "sans"],
  "onward.cache.q": ["query", "Query", "requête"],
  "onward.cache.k": ["keys", "Keys", "clés"],
  "onward.cache.v": ["values", "Values", "valeurs"],
  "onward.cache.writes": ["writes, with {0}:", "schreibt, mit {0}:", "écrit, avec {0} :"],
  "onward.cache.again": ["grey: {0} rows computed again, with the same numbers", "grau: {0} Zeilen noch einmal gerechnet, mit denselben Zahlen", "gris : {0} lignes recalculées, avec les mêmes nombres"],
  "onward.cache.total": ["{0}; so far {1}", "{0}; bisher {1}", "{0} ; jusqu’ici {1}"],
  "onward.cache.said": ["Multiplications for this word: {0} with the cache, {1} without.", "Multiplikationen für dieses Wort: {0} mit Cache, {1} ohne.", "Multiplications pour ce mot : {0} avec le cache, {1} sans."],
  "onward.cache.count": ["multiplications for this word", "Multiplikationen für dieses Wort", "multiplications pour ce mot"],
};
