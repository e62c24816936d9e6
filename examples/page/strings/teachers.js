// Texts for teachers.
export const teachers = {
  "teachers.before": ["Before the lesson", "Vor der Stunde", "Avant le cours"],
  "teachers.before.file": [
    "The page is one file. Give it to the class on a stick, by mail or in a shared folder; it opens by a double click, without network or account, and sends no data.",
    "Die Seite ist eine einzige Datei. Gib sie der Klasse auf einem USB-Stick, per E-Mail oder in einem gemeinsamen Ordner; sie öffnet sich mit einem Doppelklick, ohne Netz und Konto, und überträgt keine Daten.",
    "La page est un seul fichier. Donnez-le à la classe sur une clé USB, par courriel ou dans un dossier partagé ; il s’ouvre d’un double clic, sans réseau ni compte, et ne transmet aucune donnée."],
  "teachers.before.keys": [
    "P starts presenter mode: large type for the projector. N goes to the next station of the lesson and B to the one before. Arrow keys step through screens and lines, the digits change the part of the page, ? lists all keys; the menu ☰ switches letters and digits off. F11 shows the browser in full screen.",
    "P startet das Vorführen: große Schrift für den Beamer. N geht zur nächsten Station der Stunde, B zur vorigen. Pfeiltasten gehen durch Seiten und Zeilen, die Ziffern wechseln den Teil, ? nennt alle Tasten; das Menü ☰ schaltet Buchstaben und Ziffern ab. F11 schaltet den Browser auf Vollbild.",
    "P lance le mode présentation : grands caractères pour le projecteur. N va à la station suivante de la séance, B à la précédente. Les flèches parcourent écrans et lignes, les chiffres changent de partie, ? donne toutes les touches ; le menu ☰ désactive lettres et chiffres. F11 met le navigateur en plein écran."],
  "teachers.before.links": [
    "The address holds what you see: line, number, sentence, step of training. “Copy link” in the menu ☰ copies it. Learners press “Open a link” in their own file and paste it there; only the part from # on counts.",
    "Die Adresse enthält, was du siehst: Zeile, Zahl, Satz, Schritt des Trainings. „Link kopieren“ im Menü ☰ kopiert sie. Die Lernenden drücken in ihrer eigenen Datei auf „Link öffnen“ und fügen sie dort ein; nur der Teil ab # zählt.",
    "L’adresse contient ce que vous voyez : ligne, nombre, phrase, pas d’entraînement. « Copier le lien », dans le menu ☰, la copie. Les élèves appuient sur « Ouvrir un lien » dans leur propre fichier et l’y collent ; seule la partie à partir de # compte."],
  "teachers.before.print": [
    "“Print” in the menu ☰ prints the part that you see, with all numbers. “Line by line” can also print a worksheet, in which the new numbers are left blank.",
    "„Drucken“ im Menü ☰ druckt den Teil, den du siehst, mit allen Zahlen. „Zeile für Zeile“ druckt auf Wunsch auch ein Arbeitsblatt, auf dem die neuen Zahlen leer bleiben.",
    "« Imprimer », dans le menu ☰, imprime la partie que vous voyez, avec tous ses nombres. « Ligne par ligne » peut aussi imprimer un exercice où les nouveaux nombres restent vides."],
  "teachers.before.honest": [
    "The story’s first and third model and the GPT were trained when the page was built. Everything else is computed and trained while you watch, in your browser; the same seed gives everybody the same numbers.",
    "Das erste und das dritte Modell der Geschichte und das GPT wurden trainiert, als die Seite gebaut wurde. Alles andere wird vor deinen Augen in deinem Browser gerechnet und trainiert; mit gleichem Startwert sehen alle dieselben Zahlen.",
    "Le premier et le troisième modèle de l’histoire et le GPT ont été entraînés à la construction de la page. Tout le reste est calculé et entraîné sous vos yeux, dans votre navigateur ; la même graine donne à tous les mêmes nombres."],
  "teachers.lesson": [
    "A lesson of 30 minutes",
    "Eine Stunde von 30 Minuten",
    "Une séance de 30 minutes"],
  "teachers.station": ["Station {0} of {1}: {2} (minute {3} to {4})", "Station {0} von {1}: {2} (Minute {3} bis {4})", "Station {0} sur {1} : {2} (minute {3} à {4})"],
  "teachers.lesson.about": [
    "It begins with the story. {0} stations: follow the links from top to bottom, or press N; each one sets the page. The browser's back button brings you back here. Questions come first, answers are folded.",
    "Sie beginnt mit der Geschichte. {0} Stationen: Folge den Links von oben nach unten, oder drück N; jeder stellt die Seite ein. Der Zurück-Knopf des Browsers führt hierher. Erst fragen; die Antworten sind eingeklappt.",
    "Elle commence par l’histoire. {0} stations : suivez les liens de haut en bas, ou appuyez sur N ; chacun met la page dans l’état voulu. Le bouton Retour du navigateur ramène ici. D’abord les questions ; les réponses sont repliées."],
  "teachers.minutes": ["minute {0} to {1}", "Minute {0} bis {1}", "minute {0} à {1}"],
  "teachers.show": ["Show:", "Zeig:", "Montrez :"],
  "teachers.ask": ["Ask:", "Frag:", "Demandez :"],
  "teachers.answer": ["Answer", "Antwort", "Réponse"],

  "teachers.question": ["The question", "Die Frage", "La question"],
  "teachers.question.do": [
    "Write on the board: “The pizza came out of the oven and it tasted good.” Let everybody guess, then change the ending: screen 1 shows that “it” looks elsewhere, screen 2 how it can.",
    "Schreib an die Tafel: „The pizza came out of the oven and it tasted good.“ (Die Pizza kam aus dem Ofen, und sie schmeckte gut.) Lass alle raten und ändere dann das Ende: Seite 1 zeigt, dass „it“ woanders hinsieht, Seite 2, wie das geht.",
    "Écrivez au tableau : « The pizza came out of the oven and it tasted good. » (La pizza est sortie du four et elle était bonne.) Faites deviner tout le monde, puis changez la fin : l’écran 1 montre que « it » regarde ailleurs, l’écran 2 comment."],
  "teachers.question.ask": [
    "What is “it”, the pizza or the oven? How do you know? How could a program, which only has numbers, find out?",
    "Was ist „it“, die Pizza oder der Ofen? Woher wisst ihr das? Wie könnte ein Programm das herausfinden, das nur Zahlen hat?",
    "Qu’est-ce que « it », la pizza ou le four ? Comment le savez-vous ? Comment un programme, qui n’a que des nombres, pourrait-il le trouver ?"],
  "teachers.question.answer": [
    "By comparing words: each word gets numbers that say what it looks for and what it offers. Words that fit together get a high score.",
    "Durch Vergleichen von Wörtern: Jedes Wort bekommt Zahlen, die sagen, was es sucht und was es anbietet. Passen zwei zusammen, gibt das einen hohen Score.",
    "En comparant les mots : chaque mot reçoit des nombres qui disent ce qu’il cherche et ce qu’il offre. Deux mots qui vont ensemble donnent un score élevé."],

  "teachers.parts": ["Query, key and value", "Query, Key und Value", "Requête, clé et valeur"],
  "teachers.parts.do": [
    "Four screens: a weight that moves an arrow; a query that is dragged until the oven wins; scores that become shares; values that are mixed. Let a learner drag, and the others predict first.",
    "Vier Seiten: ein Gewicht, das einen Pfeil bewegt; eine Query, an der man zieht, bis der Ofen gewinnt; Scores, die Anteile werden; Values, die gemischt werden. Eine Person zieht, die anderen sagen vorher, was geschieht.",
    "Quatre écrans : un poids qui déplace une flèche ; une requête que l’on tire jusqu’à ce que le four gagne ; des scores qui deviennent des parts ; des valeurs que l’on mélange. Un élève manipule, les autres prédisent d’abord."],
  "teachers.parts.ask": [
    "q, k and v come from the same words. Why are they different?",
    "q, k und v kommen von denselben Wörtern. Warum sind sie verschieden?",
    "q, k et v viennent des mêmes mots. Pourquoi sont-ils différents ?"],
  "teachers.parts.answer": [
    "Because the weights W_q, W_k and W_v are different. They are random at first; training changes them.",
    "Weil die Gewichte W_q, W_k und W_v verschieden sind. Am Anfang sind sie zufällig; das Training ändert sie.",
    "Parce que les poids W_q, W_k et W_v sont différents. Au début ils sont aléatoires ; l’entraînement les change."],

  "teachers.show.sims": ["similarities", "Ähnlichkeiten", "similarités"],
  "teachers.show.percents": ["per cent: 36, 40, 24", "Prozent: 36, 40, 24", "pour cent : 36, 40, 24"],

  "teachers.show.sum": ["the weighted sum", "die gewichtete Summe", "la somme pondérée"],

  "teachers.show.it": ["what is “it”?", "was ist „it“?", "que désigne « it » ?"],
  "teachers.show.looks": ["two looks", "zwei Blicke", "deux regards"],
  "teachers.show.rows": ["rows of numbers", "Reihen von Zahlen", "lignes de nombres"],
  "teachers.show.compare": ["query and keys", "Query und Keys", "requête et clés"],
  "teachers.show.weigh": ["shares", "Anteile", "parts"],
  "teachers.show.mix": ["the mixture", "die Mischung", "le mélange"],
  "teachers.show.end": ["the end of the story", "das Ende der Geschichte", "la fin de l’histoire"],
  "teachers.numbers": ["The same in numbers", "Dasselbe in Zahlen", "La même chose en nombres"],
  "teachers.numbers.do": [
    "“Pizza is awesome”: three words, 3 × 3 scores, 3 × 3 shares, one mixture for each word. Press one number and let your learners check it with a calculator.",
    "„Pizza is awesome“: drei Wörter, 3 × 3 Scores, 3 × 3 Anteile, für jedes Wort eine Mischung. Drück auf eine Zahl und lass sie mit dem Taschenrechner nachrechnen.",
    "« Pizza is awesome » : trois mots, 3 × 3 scores, 3 × 3 parts, un mélange pour chaque mot. Appuyez sur un nombre et faites-le vérifier à la calculatrice."],
  "teachers.numbers.ask": [
    "What does each row of shares add up to, and why does “awesome” give itself 90%? What would the mixture be if a word gave itself 100%?",
    "Was ergibt jede Zeile der Anteile zusammen, und warum gibt „awesome“ sich selbst 90 %? Was wäre die Mischung, wenn ein Wort sich selbst 100 % gäbe?",
    "Quelle est la somme de chaque ligne de parts, et pourquoi « awesome » se donne-t-il 90 % ? Que serait le mélange si un mot se donnait 100 % ?"],
  "teachers.numbers.answer": [
    "100%. Its score with itself is by far the largest of its row, and softmax favours large scores. It would be its own value, unchanged.",
    "100 %. Sein Score mit sich selbst ist mit Abstand der größte der Zeile, und Softmax bevorzugt große Scores. Es wäre sein eigener Value, unverändert.",
    "100 %. Son score avec lui-même est de loin le plus grand de sa ligne, et la softmax favorise les grands scores. Ce serait sa propre valeur, inchangée."],
  "teachers.end": ["The end", "Das Ende", "La fin"],
  "teachers.end.do": [
    "The last screen of the story runs through all steps once more. Let the class read the formula aloud.",
    "Die letzte Seite der Geschichte geht noch einmal durch alle Schritte. Lass die Klasse die Formel vorlesen.",
    "Le dernier écran de l’histoire reprend toutes les étapes. Faites lire la formule à voix haute par la classe."],
  "teachers.end.ask": ["Which part of the formula did training change?", "Welchen Teil der Formel hat das Training verändert?", "Quelle partie de la formule l’entraînement a-t-il changée ?"],
  "teachers.end.answer": [
    "The weights that make q, k and v. The formula itself has nothing to learn.",
    "Die Gewichte, die q, k und v erzeugen. Die Formel selbst hat nichts zu lernen.",
    "Les poids qui produisent q, k et v. La formule elle-même n’a rien à apprendre."],

  "teachers.training": ["It learns", "Es lernt", "Il apprend"],
  "teachers.training.do": [
    "Before training the weights are random, and so is the attention of “it”. Press “▶ Play” and let everybody watch the loss fall and the attention move; the first 150 steps take 6 seconds. The model has never seen this sentence.",
    "Vor dem Training sind die Gewichte zufällig, also auch, worauf „it“ achtet. Drück auf „▶ Start“ und lass alle zusehen, wie der Loss fällt und die Aufmerksamkeit wandert; die ersten 150 Schritte dauern 6 Sekunden. Diesen Satz hat das Modell nie gesehen.",
    "Avant l’entraînement les poids sont aléatoires, et l’attention de « it » aussi. Appuyez sur « ▶ Lancer » et faites regarder la perte baisser et l’attention se déplacer ; les 150 premiers pas durent 6 secondes. Le modèle n’a jamais vu cette phrase."],
  "teachers.show.training": ["training", "das Training", "l’entraînement"],
  "teachers.show.after": ["after 2000 steps", "nach 2000 Schritten", "après 2000 pas"],
  "teachers.training.ask": [
    "First guess: which word will “it” attend to in the end? Nobody tells this model what “it” is: it only guesses next words. What does it learn from?",
    "Erst raten: Auf welches Wort achtet „it“ am Ende? Diesem Modell sagt niemand, was „it“ ist: Es rät nur nächste Wörter. Woraus lernt es?",
    "Devinez d’abord : à quel mot « it » fera-t-il attention à la fin ? Personne ne dit à ce modèle ce qu’est « it » : il ne fait que deviner des mots suivants. De quoi apprend-il ?"],
  "teachers.training.answer": [
    "To “pizza”. It only learned to guess the next word. “tasted good” follows pizza, so looking at pizza makes the guess better.",
    "Auf „pizza“. Es hat nur gelernt, das nächste Wort zu raten. „tasted good“ folgt auf pizza, also hilft es beim Raten, auf pizza zu schauen.",
    "À « pizza ». Il a seulement appris à deviner le mot suivant. « tasted good » suit pizza : regarder pizza aide donc à deviner."],

  "teachers.limits": ["What it does not know", "Was es nicht weiß", "Ce qu’il ne sait pas"],
  "teachers.limits.do": [
    "Here the place is an animal, too, which never happens in training. After 500 steps “it” is the dog, after 2000 steps the cat.",
    "Hier ist auch der Ort ein Tier; das kommt im Training nie vor. Nach 500 Schritten ist „it“ der Hund, nach 2000 die Katze.",
    "Ici le lieu est aussi un animal, ce qui n’arrive jamais à l’entraînement. Après 500 pas « it » est le chien, après 2000 le chat."],
  "teachers.show.early": ["cat and dog after 500 steps", "Katze und Hund nach 500 Schritten", "chat et chien après 500 pas"],
  "teachers.show.late": ["cat and dog after 2000 steps", "Katze und Hund nach 2000 Schritten", "chat et chien après 2000 pas"],
  "teachers.limits.ask": [
    "Does the model understand the sentence? Let everybody write one that fools it.",
    "Versteht das Modell den Satz? Lass alle einen schreiben, der es hereinlegt.",
    "Le modèle comprend-il la phrase ? Que chacun en écrive une qui le trompe."],
  "teachers.limits.answer": [
    "It has learned habits that fit its sentences, not what “it” means. In training “it” is always the first noun, and places are never meant. In “the garden was found near the dog and it” these habits disagree: it takes the dog and writes “wagged happily”.",
    "Es hat Gewohnheiten gelernt, die zu seinen Sätzen passen, nicht, was „it“ bedeutet. Im Training ist „it“ immer das erste Hauptwort, und Orte sind nie gemeint. In „the garden was found near the dog and it“ widersprechen sich die beiden: Es nimmt den Hund und schreibt „wagged happily“ (wedelte fröhlich).",
    "Il a appris des habitudes qui conviennent à ses phrases, pas ce que « it » veut dire. À l’entraînement, « it » est toujours le premier nom, et jamais un lieu. Dans « the garden was found near the dog and it », ces deux habitudes se contredisent : il prend le chien et écrit « wagged happily » (remuait la queue, joyeux)."],

  "teachers.more.breaks.answer": [
    "On the words after it, which it should predict. The loss is far smaller, below the dotted limit, but the model only copies: where a sentence ends, it has nothing to copy and writes badly. A very low loss can be a sign of a mistake.",
    "Auf den Wörtern danach, die es vorhersagen soll. Der Loss ist viel kleiner, unter der gepunkteten Grenze, aber das Modell schreibt nur ab: Wo ein Satz endet, gibt es nichts abzuschreiben, und es schreibt schlecht. Ein sehr kleiner Loss kann auf einen Fehler hinweisen.",
    "Sur les mots suivants, ceux qu’il doit prédire. La perte est bien plus petite, sous la limite en pointillé, mais le modèle ne fait que copier : là où une phrase s’arrête, il n’a rien à copier et écrit mal. Une perte très basse peut révéler une erreur."],

  "teachers.more": ["If there is more time", "Wenn mehr Zeit ist", "S’il reste du temps"],
  "teachers.more.breaks": [
    "“Break it”, the inverted mask: after training, what will the attention of “it” be on? Will the loss be larger or smaller than the healthy model’s?",
    "„Mach es kaputt“, die umgedrehte Maske: Worauf liegt nach dem Training die Aufmerksamkeit von „it“? Ist der Loss größer oder kleiner als der des gesunden Modells?",
    "« Casser le modèle », le masque inversé : après l’entraînement, sur quoi portera l’attention de « it » ? La perte sera-t-elle plus grande ou plus petite que celle du modèle sain ?"],
  "teachers.more.heads": [
    "“Training” with 2 or 4 heads: which head finds what “it” is?",
    "„Training“ mit 2 oder 4 Köpfen: Welcher Kopf findet, was „it“ ist?",
    "« Entraînement » avec 2 ou 4 têtes : quelle tête trouve ce qu’est « it » ?"],
  "teachers.more.heads.answer": [
    "“Show head” above the table of attention switches between them: look for the head whose row of “it” is green at the subject.",
    "„Zeige Kopf“ über der Tabelle der Aufmerksamkeit wechselt: Such den Kopf, dessen Zeile „it“ beim Subjekt grün ist.",
    "« Montrer la tête », au-dessus du tableau de l’attention, passe de l’une à l’autre : cherchez la tête dont la ligne « it » est verte au sujet."],
  "teachers.more.unseen": [
    "“The pizza came out of the oven and it tasted good” has a loss of 0.711 after 500 steps, but 0.909 after 2,000. Why does more training make it larger?",
    "„The pizza came out of the oven and it tasted good“ hat nach 500 Schritten einen Loss von 0,711, nach 2000 aber 0,909. Warum wird er mit mehr Training größer?",
    "« The pizza came out of the oven and it tasted good » a une perte de 0,711 après 500 pas, mais de 0,909 après 2000. Pourquoi augmente-t-elle ?"],
  "teachers.more.unseen.answer": [
    "This sentence is never seen in training. There pizza never comes out of the oven, and the model learns even this by heart: “oven” surprises it more and more. The word after “it” stays right.",
    "Dieser Satz kommt im Training nie vor. Dort kommt pizza nie aus dem Ofen, und auch das lernt das Modell auswendig: „oven“ überrascht es immer mehr. Das Wort nach „it“ bleibt richtig.",
    "Cette phrase n’est jamais vue à l’entraînement. Pizza n’y sort jamais du four, et le modèle apprend même cela par cœur : « oven » le surprend de plus en plus. Le mot après « it » reste juste."],
  "teachers.more.tasks": [
    "Afterwards, build it: Heed comes with ten tasks in C or PyTorch, graded by numbers. “make task-kit” packs them for a class (docs/tasks.md).",
    "Danach selbst bauen: Zu Heed gehören zehn Aufgaben in C oder PyTorch, die anhand von Zahlen bewertet werden. „make task-kit“ packt sie für eine Klasse (docs/tasks.md).",
    "Ensuite, construisez-le : Heed contient dix exercices en C ou en PyTorch, corrigés sur des nombres. « make task-kit » les réunit pour une classe (docs/tasks.md)."],
};
