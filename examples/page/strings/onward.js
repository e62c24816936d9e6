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
};
