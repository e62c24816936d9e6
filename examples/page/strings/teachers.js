// Texts for teachers.
export const teachers = {
  "teachers.before": ["Before the lesson", "Vor der Stunde", "Avant le cours"],
  "teachers.before.file": [
    "The page is one file. Give it to the class by stick, mail or drive; it opens by a double click, without network or account, and sends nothing anywhere.",
    "Die Seite ist eine Datei. Gib sie der Klasse per Stick, Mail oder Laufwerk; sie öffnet sich mit einem Doppelklick, ohne Netz und Konto, und schickt nichts irgendwohin.",
    "La page est un seul fichier. Donnez-le à la classe par clé, courriel ou dossier partagé ; il s’ouvre d’un double clic, sans réseau ni compte, et n’envoie rien nulle part."],
  "teachers.before.keys": [
    "P starts presenter mode: large type for the projector. Arrow keys step through the lines, 1 to 6 change the part of the page, ? lists all keys. F11 fills the screen.",
    "P startet das Vorführen: große Schrift für den Beamer. Pfeiltasten gehen durch die Zeilen, 1 bis 6 wechseln den Teil der Seite, ? nennt alle Tasten. F11 füllt den Bildschirm.",
    "P lance le mode présentation : grands caractères pour le projecteur. Les flèches parcourent les lignes, 1 à 6 changent de partie, ? donne toutes les touches. F11 remplit l’écran."],
  "teachers.before.links": [
    "The address holds what you see: line, number, sentence, step of training. “Copy link” gives it to the class; each learner needs the file at the same place, or copies the part after # behind the address of their own.",
    "Die Adresse enthält, was du siehst: Zeile, Zahl, Satz, Schritt des Trainings. „Link kopieren“ gibt ihn weiter; alle brauchen die Datei am selben Ort oder hängen den Teil ab # an ihre eigene Adresse.",
    "L’adresse contient ce que vous voyez : ligne, nombre, phrase, pas d’entraînement. « Copier le lien » le transmet ; il faut le fichier au même endroit, ou copier la partie à partir de # derrière sa propre adresse."],
  "teachers.before.print": [
    "“Print” prints the part that you see, with all its numbers, for instance as a worksheet.",
    "„Drucken“ druckt den Teil, den du siehst, mit allen Zahlen, zum Beispiel als Arbeitsblatt.",
    "« Imprimer » imprime la partie que vous voyez, avec tous ses nombres, par exemple comme fiche de travail."],
  "teachers.before.honest": [
    "Nothing is drawn in advance: this page computes and trains a real model, and the same seed gives everybody the same numbers.",
    "Nichts ist vorgezeichnet: Diese Seite rechnet und trainiert ein echtes Modell, und mit gleichem Startwert sehen alle gleiche Zahlen.",
    "Rien n’est dessiné d’avance : cette page calcule et entraîne un vrai modèle, et la même graine donne à tous les mêmes nombres."],
  "teachers.lesson": ["A lesson of ten minutes", "Eine Stunde in zehn Minuten", "Un cours de dix minutes"],
  "teachers.lesson.about": [
    "Follow the links from top to bottom: each one sets the page. The browser's back button brings you back here. Questions come first, answers are folded.",
    "Folge den Links von oben nach unten: Jeder stellt die Seite ein. Der Zurück-Knopf des Browsers führt hierher. Erst fragen; die Antworten sind eingeklappt.",
    "Suivez les liens de haut en bas : chacun règle la page. Le bouton Retour du navigateur ramène ici. D’abord les questions ; les réponses sont repliées."],
  "teachers.minutes": ["minute {0} to {1}", "Minute {0} bis {1}", "minute {0} à {1}"],
  "teachers.show": ["Show:", "Zeig:", "Montrez :"],
  "teachers.ask": ["Ask:", "Frag:", "Demandez :"],
  "teachers.answer": ["Answer", "Antwort", "Réponse"],

  "teachers.question": ["The question", "Die Frage", "La question"],
  "teachers.question.do": [
    "Write on the board: “The pizza came out of the oven and it tasted good.”",
    "Schreib an die Tafel: „The pizza came out of the oven and it tasted good.“ (Die Pizza kam aus dem Ofen, und sie schmeckte gut.)",
    "Écrivez au tableau : « The pizza came out of the oven and it tasted good. » (La pizza est sortie du four et elle était bonne.)"],
  "teachers.question.ask": [
    "What is “it”, the pizza or the oven? How do you know? How could a program, which only has numbers, find out?",
    "Was ist „it“, die Pizza oder der Ofen? Woher wisst ihr das? Wie könnte ein Programm das herausfinden, das nur Zahlen hat?",
    "Qu’est-ce que « it », la pizza ou le four ? Comment le savez-vous ? Comment un programme, qui n’a que des nombres, pourrait-il le trouver ?"],
  "teachers.question.answer": [
    "By comparing words: each word gets numbers that say what it looks for and what it offers. Words that fit together get a high value.",
    "Durch Vergleichen von Wörtern: Jedes Wort bekommt Zahlen, die sagen, was es sucht und was es anbietet. Passen zwei zusammen, gibt das einen hohen Wert.",
    "En comparant les mots : chaque mot reçoit des nombres qui disent ce qu’il cherche et ce qu’il offre. Deux mots qui vont ensemble donnent une valeur élevée."],

  "teachers.parts": ["Query, key and value", "Query, Key und Value", "Requête, clé et valeur"],
  "teachers.parts.do": [
    "Three words, two numbers each. The first three lines of the class multiply them by three weight matrices. Point at one number of q and let the class check it with a calculator.",
    "Drei Wörter, je zwei Zahlen. Die ersten drei Zeilen der Klasse multiplizieren sie mit drei Gewichtsmatrizen. Zeig auf eine Zahl von q und lass sie mit dem Taschenrechner nachrechnen.",
    "Trois mots, deux nombres chacun. Les trois premières lignes de la classe les multiplient par trois matrices de poids. Montrez un nombre de q et faites-le vérifier à la calculatrice."],
  "teachers.parts.show.1": ["q, what a word looks for", "q, was ein Wort sucht", "q, ce qu’un mot cherche"],
  "teachers.parts.show.2": ["k, what it offers", "k, was es anbietet", "k, ce qu’il offre"],
  "teachers.parts.show.3": ["v, what it passes on", "v, was es weitergibt", "v, ce qu’il transmet"],
  "teachers.parts.ask": [
    "q, k and v come from the same words. Why are they different?",
    "q, k und v kommen von denselben Wörtern. Warum sind sie verschieden?",
    "q, k et v viennent des mêmes mots. Pourquoi sont-ils différents ?"],
  "teachers.parts.answer": [
    "Because the weights W_q, W_k and W_v are different. Only these are learned.",
    "Weil die Gewichte W_q, W_k und W_v verschieden sind. Nur sie werden gelernt.",
    "Parce que les poids W_q, W_k et W_v sont différents. Eux seuls sont appris."],

  "teachers.percents": ["From similarity to per cent", "Von Ähnlichkeit zu Prozent", "De la similarité au pourcentage"],
  "teachers.percents.do": [
    "Each query meets each key: 3 × 3 numbers. They are divided by √2, because there are two features, and softmax turns each row into per cent.",
    "Jede Query trifft auf jeden Key: 3 × 3 Zahlen. Sie werden durch √2 geteilt, weil es zwei Merkmale sind, und Softmax macht aus jeder Zeile Prozente.",
    "Chaque requête rencontre chaque clé : 3 × 3 nombres. On les divise par √2, car il y a deux traits, et la softmax change chaque ligne en pourcentages."],
  "teachers.percents.show.1": ["similarities", "Ähnlichkeiten", "similarités"],
  "teachers.percents.show.2": ["scaled", "skaliert", "mises à l’échelle"],
  "teachers.percents.show.3": ["per cent: 36, 40, 24", "Prozent: 36, 40, 24", "pour cent : 36, 40, 24"],
  "teachers.percents.ask": [
    "What does each row add up to, and why does “awesome” look at itself with 90 %?",
    "Was ergibt jede Zeile zusammen, und warum schaut „awesome“ zu 90 % auf sich selbst?",
    "Que fait la somme de chaque ligne, et pourquoi « awesome » se regarde-t-il à 90 % ?"],
  "teachers.percents.answer": [
    "100 %. Its similarity to itself is by far the largest number in its row, and softmax favours large numbers.",
    "100 %. Seine Ähnlichkeit mit sich selbst ist mit Abstand die größte Zahl der Zeile, und Softmax bevorzugt große Zahlen.",
    "100 %. Sa similarité avec lui-même est de loin le plus grand nombre de la ligne, et la softmax favorise les grands nombres."],

  "teachers.result": ["The result", "Das Ergebnis", "Le résultat"],
  "teachers.result.do": [
    "The last line mixes the values: 36 % of one, 40 % of the next, 24 % of the third. This is all that attention does.",
    "Die letzte Zeile mischt die Values: 36 % von einem, 40 % vom nächsten, 24 % vom dritten. Mehr tut Attention nicht.",
    "La dernière ligne mélange les valeurs : 36 % de l’une, 40 % de la suivante, 24 % de la troisième. L’attention ne fait rien de plus."],
  "teachers.result.show.1": ["the weighted sum", "die gewichtete Summe", "la somme pondérée"],
  "teachers.result.ask": [
    "What would the result be if a word attended 100 % to itself?",
    "Was käme heraus, wenn ein Wort zu 100 % auf sich selbst achtete?",
    "Que serait le résultat si un mot faisait 100 % attention à lui-même ?"],
  "teachers.result.answer": ["Its own value, unchanged.", "Sein eigener Value, unverändert.", "Sa propre valeur, inchangée."],

  "teachers.training": ["It learns", "Es lernt", "Il apprend"],
  "teachers.training.do": [
    "Before training the weights are random, and so is the attention of “it”. Press play and let the class watch the loss fall and the attention move. The model has never seen this sentence.",
    "Vor dem Training sind die Gewichte zufällig, also auch, worauf „it“ achtet. Drück auf Abspielen und lass alle zusehen, wie der Loss fällt und die Aufmerksamkeit wandert. Diesen Satz hat das Modell nie gesehen.",
    "Avant l’entraînement les poids sont aléatoires, et l’attention de « it » aussi. Lancez la lecture et faites regarder la perte baisser et l’attention se déplacer. Le modèle n’a jamais vu cette phrase."],
  "teachers.training.show.1": ["before training", "vor dem Training", "avant l’entraînement"],
  "teachers.training.show.2": ["training", "das Training", "l’entraînement"],
  "teachers.training.show.3": ["after 2000 steps", "nach 2000 Schritten", "après 2000 pas"],
  "teachers.training.ask": [
    "First guess: which word will “it” attend to in the end? Nobody told the model what “it” is. What did it learn from?",
    "Erst raten: Auf welches Wort wird „it“ am Ende achten? Niemand hat dem Modell gesagt, was „it“ ist. Woraus hat es gelernt?",
    "Devinez d’abord : à quel mot « it » fera-t-il attention à la fin ? Personne n’a dit au modèle ce qu’est « it ». De quoi a-t-il appris ?"],
  "teachers.training.answer": [
    "To “pizza”. It only learned to guess the next word. “tasted good” follows pizza, so looking at pizza makes the guess better.",
    "Auf „pizza“. Es hat nur gelernt, das nächste Wort zu raten. „tasted good“ folgt auf pizza, also hilft es beim Raten, auf pizza zu schauen.",
    "À « pizza ». Il a seulement appris à deviner le mot suivant. « tasted good » suit pizza : regarder pizza aide donc à deviner."],

  "teachers.limits": ["What it does not know", "Was es nicht weiß", "Ce qu’il ne sait pas"],
  "teachers.limits.do": [
    "Here the place is an animal, too, which never happens in training. After 500 steps “it” is the dog, after 2000 steps the cat.",
    "Hier ist auch der Ort ein Tier; das kommt im Training nie vor. Nach 500 Schritten ist „it“ der Hund, nach 2000 die Katze.",
    "Ici le lieu est aussi un animal, ce qui n’arrive jamais à l’entraînement. Après 500 pas « it » est le chien, après 2000 le chat."],
  "teachers.limits.show.1": ["cat and dog after 500 steps", "Katze und Hund nach 500 Schritten", "chat et chien après 500 pas"],
  "teachers.limits.show.2": ["after 2000 steps", "nach 2000 Schritten", "après 2000 pas"],
  "teachers.limits.ask": [
    "Does the model understand the sentence? Let everybody write one that fools it.",
    "Versteht das Modell den Satz? Lass alle einen schreiben, der es hereinlegt.",
    "Le modèle comprend-il la phrase ? Que chacun en écrive une qui le trompe."],
  "teachers.limits.answer": [
    "It has learned a rule that fits its sentences: look at the second word if it is a thing or an animal. With other sentences it guesses.",
    "Es hat eine Regel gelernt, die zu seinen Sätzen passt: Schau auf das zweite Wort, wenn es ein Ding oder Tier ist. Bei anderen Sätzen rät es.",
    "Il a appris une règle qui convient à ses phrases : regarder le deuxième mot si c’est une chose ou un animal. Avec d’autres phrases, il devine."],

  "teachers.breaks": ["Break it", "Mach es kaputt", "Cassez-le"],
  "teachers.breaks.do": [
    "Choose one switch, let everybody guess what will happen, and train. Another one can be homework.",
    "Wähl einen Schalter, lass alle raten, was geschieht, und trainiere. Ein anderer taugt als Hausaufgabe.",
    "Choisissez un interrupteur, faites deviner ce qui va se passer, puis entraînez. Un autre fera un devoir à la maison."],
  "teachers.breaks.show.1": ["no position encodings", "keine Positionen", "sans positions"],
  "teachers.breaks.ask": [
    "Without positions the model no longer knows the order of the words. Can it still find out what “it” is?",
    "Ohne Positionen kennt das Modell die Reihenfolge der Wörter nicht mehr. Kann es noch herausfinden, was „it“ ist?",
    "Sans positions le modèle ne connaît plus l’ordre des mots. Peut-il encore trouver ce qu’est « it » ?"],
  "teachers.breaks.answer": [
    "The page shows what happens, and why, when it has trained.",
    "Nach dem Training zeigt die Seite, was geschieht, und warum.",
    "Après l’entraînement, la page montre ce qui arrive, et pourquoi."],

  "teachers.more": ["If there is more time", "Wenn mehr Zeit ist", "S’il reste du temps"],
  "teachers.more.gradients": [
    "“Gradients”: turn one weight a little and see the loss move. How much it moves is the gradient.",
    "„Gradienten“: Dreh ein wenig an einem Gewicht und sieh, wie sich der Loss bewegt. Wie stark, sagt der Gradient.",
    "« Gradients » : modifiez un peu un poids et voyez la perte bouger. De combien, c’est le gradient."],
  "teachers.more.heads": [
    "“Training” with 2 or 4 heads: which head finds what “it” is?",
    "„Training“ mit 2 oder 4 Köpfen: Welcher Kopf findet, was „it“ ist?",
    "« Entraînement » avec 2 ou 4 têtes : quelle tête trouve ce qu’est « it » ?"],
  "teachers.more.own": [
    "“Your own”: remove the mask and train again. Why does the loss fall so far, and why is the model of no use then?",
    "„Eigenes“: Nimm die Maske weg und trainiere neu. Warum fällt der Loss so tief, und warum taugt das Modell dann nichts?",
    "« À vous » : enlevez le masque et réentraînez. Pourquoi la perte tombe-t-elle si bas, et pourquoi le modèle ne vaut-il alors rien ?"],
  "teachers.more.files": [
    "Learners who program: save the weights and continue in Python or C, under “Your own”.",
    "Wer programmiert: Gewichte speichern und in Python oder C weitermachen, unter „Eigenes“.",
    "Pour qui programme : enregistrer les poids et continuer en Python ou en C, dans « À vous »."],
};
