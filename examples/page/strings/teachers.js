// Texts for teachers.
export const teachers = {
  "teachers.before": ["Before the lesson", "Vor der Stunde", "Avant le cours"],
  "teachers.before.file": [
    "The page is one file. Give it to the class on a stick, by mail or in a shared folder; it opens by a double click, without network or account, and sends no data.",
    "Die Seite ist eine einzige Datei. Gib sie der Klasse auf einem USB-Stick, per E-Mail oder in einem gemeinsamen Ordner; sie öffnet sich mit einem Doppelklick, ohne Netz und Konto, und überträgt keine Daten.",
    "La page est un seul fichier. Donnez-le à la classe sur une clé USB, par courriel ou dans un dossier partagé ; il s’ouvre d’un double clic, sans réseau ni compte, et ne transmet aucune donnée."],
  "teachers.before.keys": [
    "P starts presenter mode: large type for the projector. N goes to the next station of the chosen plan and B to the one before. Arrow keys step through the lines, the digits change the part of the page, ? lists all keys. F11 shows the browser in full screen.",
    "P startet das Vorführen: große Schrift für den Beamer. N geht zur nächsten Station des gewählten Plans, B zur vorigen. Pfeiltasten gehen durch die Zeilen, die Ziffern wechseln den Teil der Seite, ? nennt alle Tasten. F11 schaltet den Browser auf Vollbild.",
    "P lance le mode présentation : grands caractères pour le projecteur. N va à la station suivante du plan choisi, B à la précédente. Les flèches parcourent les lignes, les chiffres changent de partie, ? donne toutes les touches. F11 met le navigateur en plein écran."],
  "teachers.before.links": [
    "The address holds what you see: line, number, sentence, step of training. “Copy link” in the menu ☰ copies it. Learners press “Open a link” in their own file and paste it there; only the part from # on counts.",
    "Die Adresse enthält, was du siehst: Zeile, Zahl, Satz, Schritt des Trainings. „Link kopieren“ im Menü ☰ kopiert sie. Die Lernenden drücken in ihrer eigenen Datei auf „Link öffnen“ und fügen sie dort ein; nur der Teil ab # zählt.",
    "L’adresse contient ce que vous voyez : ligne, nombre, phrase, pas d’entraînement. « Copier le lien », dans le menu ☰, la copie. Les élèves appuient sur « Ouvrir un lien » dans leur propre fichier et l’y collent ; seule la partie à partir de # compte."],
  "teachers.before.print": [
    "“Print” in the menu ☰ prints the part that you see, with all numbers. “Line by line” can also print a worksheet, in which the new numbers are left blank.",
    "„Drucken“ im Menü ☰ druckt den Teil, den du siehst, mit allen Zahlen. „Zeile für Zeile“ druckt auf Wunsch auch ein Arbeitsblatt, auf dem die neuen Zahlen leer bleiben.",
    "« Imprimer », dans le menu ☰, imprime la partie que vous voyez, avec tous ses nombres. « Ligne par ligne » peut aussi imprimer un exercice où les nouveaux nombres restent vides."],
  "teachers.before.honest": [
    "Nothing is computed in advance: this page calculates and trains a real model, and the same seed gives everybody the same numbers.",
    "Nichts ist vorberechnet: Diese Seite rechnet und trainiert ein echtes Modell, und mit gleichem Startwert sehen alle dieselben Zahlen.",
    "Rien n’est calculé d’avance : cette page calcule et entraîne un vrai modèle, et la même graine donne à tous les mêmes nombres."],
  "teachers.lesson": ["A plan for the lesson", "Ein Plan für die Stunde", "Un plan pour le cours"],
  "teachers.plan": ["{0} minutes", "{0} Minuten", "{0} minutes"],
  "teachers.station": ["Station {0} of {1}: {2} (minute {3} to {4})", "Station {0} von {1}: {2} (Minute {3} bis {4})", "Station {0} sur {1} : {2} (minute {3} à {4})"],
  "teachers.lesson.about": [
    "{0} stations: follow the links from top to bottom, or press N; each one sets the page. The browser's back button brings you back here. Questions come first, answers are folded.",
    "{0} Stationen: Folge den Links von oben nach unten, oder drück N; jeder stellt die Seite ein. Der Zurück-Knopf des Browsers führt hierher. Erst fragen; die Antworten sind eingeklappt.",
    "{0} stations : suivez les liens de haut en bas, ou appuyez sur N ; chacun met la page dans l’état voulu. Le bouton Retour du navigateur ramène ici. D’abord les questions ; les réponses sont repliées."],
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

  "teachers.learns": [
    "It learns",
    "Es lernt",
    "Il apprend"],
  "teachers.learns.do": [
    "Now the weights are random, and so is what “it” attends to. Press “▶ Train the model”; it takes a few seconds. The model has never seen this sentence.",
    "Jetzt sind die Gewichte zufällig, also auch, worauf „it“ achtet. Drück auf „▶ Modell trainieren“; es dauert ein paar Sekunden. Diesen Satz hat das Modell nie gesehen.",
    "Pour l’instant les poids sont aléatoires, et l’attention de « it » aussi. Appuyez sur « ▶ Entraîner le modèle » ; cela prend quelques secondes. Le modèle n’a jamais vu cette phrase."],
  "teachers.learns.ask": [
    "First guess: which word will “it” attend to after training? What did the model learn from?",
    "Erst raten: Auf welches Wort achtet „it“ nach dem Training? Woraus hat das Modell gelernt?",
    "Devinez d’abord : à quel mot « it » fera-t-il attention après l’entraînement ? De quoi le modèle a-t-il appris ?"],
  "teachers.learns.answer": [
    "To “pizza”. It only learned to guess the next word, and looking at pizza makes the guess “tasted good” better.",
    "Auf „pizza“. Es hat nur gelernt, das nächste Wort zu raten, und mit dem Blick auf pizza rät es „tasted good“ besser.",
    "À « pizza ». Il a seulement appris à deviner le mot suivant, et regarder pizza aide à deviner « tasted good »."],
  "teachers.show.untrained": [
    "“it” before training",
    "„it“ vor dem Training",
    "« it » avant l’entraînement"],

  "teachers.shares": [
    "Attention is shares",
    "Aufmerksamkeit ist Anteile",
    "L’attention, ce sont des parts"],
  "teachers.shares.do": [
    "Three words, three rows. Each word compares itself with all words; softmax turns the similarities of a row into shares of 100 %. Point at one number and read its formula aloud.",
    "Drei Wörter, drei Zeilen. Jedes Wort vergleicht sich mit allen Wörtern; Softmax macht aus den Ähnlichkeiten einer Zeile Anteile von 100 %. Zeig auf eine Zahl und lies ihre Formel vor.",
    "Trois mots, trois lignes. Chaque mot se compare à tous les mots ; la softmax change les similarités d’une ligne en parts de 100 %. Montrez un nombre et lisez sa formule à voix haute."],
  "teachers.shares.ask": [
    "What does each row add up to? Which word looks mostly at itself?",
    "Was ergibt jede Zeile zusammen? Welches Wort schaut vor allem auf sich selbst?",
    "Combien vaut la somme de chaque ligne ? Quel mot se regarde surtout lui-même ?"],
  "teachers.shares.answer": [
    "100 %. “awesome” looks at itself with 90 %, as its similarity to itself is by far the largest of its row.",
    "100 %. „awesome“ schaut zu 90 % auf sich selbst, denn seine Ähnlichkeit mit sich selbst ist mit Abstand die größte der Zeile.",
    "100 %. « awesome » se regarde à 90 %, car sa similarité avec lui-même est de loin la plus grande de sa ligne."],

  "teachers.parts": ["Query, key and value", "Query, Key und Value", "Requête, clé et valeur"],
  "teachers.parts.do": [
    "Three words, two numbers each. The first three lines of the program multiply them by three weight matrices. Point at one number of q and let your learners check it with a calculator.",
    "Drei Wörter, je zwei Zahlen. Die ersten drei Zeilen des Programms multiplizieren sie mit drei Gewichtsmatrizen. Zeig auf eine Zahl von q und lass sie von den Lernenden mit dem Taschenrechner nachrechnen.",
    "Trois mots, deux nombres chacun. Les trois premières lignes du programme les multiplient par trois matrices de poids. Montrez un nombre de q et faites-le vérifier par les élèves à la calculatrice."],
  "teachers.show.q": ["q, what a word looks for", "q, was ein Wort sucht", "q, ce qu’un mot cherche"],
  "teachers.show.k": ["k, what it offers", "k, was es anbietet", "k, ce qu’il offre"],
  "teachers.show.v": ["v, what it passes on", "v, was es weitergibt", "v, ce qu’il transmet"],
  "teachers.parts.ask": [
    "q, k and v come from the same words. Why are they different?",
    "q, k und v kommen von denselben Wörtern. Warum sind sie verschieden?",
    "q, k et v viennent des mêmes mots. Pourquoi sont-ils différents ?"],
  "teachers.parts.answer": [
    "Because the weights W_q, W_k and W_v are different. They are random at first; training changes them.",
    "Weil die Gewichte W_q, W_k und W_v verschieden sind. Am Anfang sind sie zufällig; das Training ändert sie.",
    "Parce que les poids W_q, W_k et W_v sont différents. Au début ils sont aléatoires ; l’entraînement les change."],

  "teachers.percents": ["From similarity to per cent", "Von Ähnlichkeit zu Prozent", "De la similarité au pourcentage"],
  "teachers.percents.do": [
    "Each query meets each key: 3 × 3 numbers. They are divided by √2, because there are two features, and softmax turns each row into per cent.",
    "Jede Query trifft auf jeden Key: 3 × 3 Zahlen. Sie werden durch √2 geteilt, weil es zwei Merkmale sind, und Softmax macht aus jeder Zeile Prozente.",
    "Chaque requête rencontre chaque clé : 3 × 3 nombres. On les divise par √2, car il y a deux caractéristiques, et la softmax change chaque ligne en pourcentages."],
  "teachers.show.sims": ["similarities", "Ähnlichkeiten", "similarités"],
  "teachers.show.scaled": ["scaled", "skaliert", "mises à l’échelle"],
  "teachers.show.percents": ["per cent: 36, 40, 24", "Prozent: 36, 40, 24", "pour cent : 36, 40, 24"],
  "teachers.percents.ask": [
    "What does each row add up to, and why does “awesome” look at itself with 90 %?",
    "Was ergibt jede Zeile zusammen, und warum schaut „awesome“ zu 90 % auf sich selbst?",
    "Combien vaut la somme de chaque ligne, et pourquoi « awesome » se regarde-t-il à 90 % ?"],
  "teachers.percents.answer": [
    "100 %. Its similarity to itself is by far the largest number in its row, and softmax favours large numbers.",
    "100 %. Seine Ähnlichkeit mit sich selbst ist mit Abstand die größte Zahl der Zeile, und Softmax bevorzugt große Zahlen.",
    "100 %. Sa similarité avec lui-même est de loin le plus grand nombre de la ligne, et la softmax favorise les grands nombres."],

  "teachers.result": ["The result", "Das Ergebnis", "Le résultat"],
  "teachers.result.do": [
    "Line 7 mixes the values: 36 % of one, 40 % of the next, 24 % of the third. This is all that attention does.",
    "Zeile 7 mischt die Values: 36 % von einem, 40 % vom nächsten, 24 % vom dritten. Mehr tut Attention nicht.",
    "La ligne 7 mélange les valeurs : 36 % de l’une, 40 % de la suivante, 24 % de la troisième. L’attention ne fait rien de plus."],
  "teachers.show.sum": ["the weighted sum", "die gewichtete Summe", "la somme pondérée"],
  "teachers.result.ask": [
    "What would the result be if a word attended 100 % to itself?",
    "Was käme heraus, wenn ein Wort zu 100 % auf sich selbst achtete?",
    "Que serait le résultat si un mot portait 100 % de son attention sur lui-même ?"],
  "teachers.result.answer": ["Its own value, unchanged.", "Sein eigener Value, unverändert.", "Sa propre valeur, inchangée."],

  "teachers.training": ["It learns", "Es lernt", "Il apprend"],
  "teachers.training.do": [
    "Before training the weights are random, and so is the attention of “it”. Press “▶ Play” and let everybody watch the loss fall and the attention move; the first 150 steps take 6 seconds. The model has never seen this sentence.",
    "Vor dem Training sind die Gewichte zufällig, also auch, worauf „it“ achtet. Drück auf „▶ Start“ und lass alle zusehen, wie der Loss fällt und die Aufmerksamkeit wandert; die ersten 150 Schritte dauern 6 Sekunden. Diesen Satz hat das Modell nie gesehen.",
    "Avant l’entraînement les poids sont aléatoires, et l’attention de « it » aussi. Appuyez sur « ▶ Lancer » et faites regarder la perte baisser et l’attention se déplacer ; les 150 premiers pas durent 6 secondes. Le modèle n’a jamais vu cette phrase."],
  "teachers.show.before": ["before training", "vor dem Training", "avant l’entraînement"],
  "teachers.show.training": ["training", "das Training", "l’entraînement"],
  "teachers.show.after": ["after 2000 steps", "nach 2000 Schritten", "après 2000 pas"],
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
  "teachers.show.early": ["cat and dog after 500 steps", "Katze und Hund nach 500 Schritten", "chat et chien après 500 pas"],
  "teachers.show.late": ["cat and dog after 2000 steps", "Katze und Hund nach 2000 Schritten", "chat et chien après 2000 pas"],
  "teachers.limits.ask": [
    "Does the model understand the sentence? Let everybody write one that fools it.",
    "Versteht das Modell den Satz? Lass alle einen schreiben, der es hereinlegt.",
    "Le modèle comprend-il la phrase ? Que chacun en écrive une qui le trompe."],
  "teachers.limits.answer": [
    "It has learned a rule that fits its sentences: look at the second word, whatever it is. In “the garden was found near the dog and it” that is the garden, and it writes “purred softly”.",
    "Es hat eine Regel gelernt, die zu seinen Sätzen passt: Schau auf das zweite Wort, was immer es ist. In „the garden was found near the dog and it“ ist das der Garten, und es schreibt „purred softly“ (schnurrte leise).",
    "Il a appris une règle qui convient à ses phrases : regarder le deuxième mot, quel qu’il soit. Dans « the garden was found near the dog and it », c’est le jardin, et il écrit « purred softly » (ronronna doucement)."],

  "teachers.breaks": ["Break it", "Mach es kaputt", "Casser le modèle"],
  "teachers.breaks.do": [
    "The mask is turned round: each word may see only later words. Let everybody guess, choose the answer of the majority, and press “Retrain with the mistake”. Another mistake can be homework.",
    "Die Maske ist umgedreht: Jedes Wort darf nur spätere sehen. Lass alle raten, wähl die Antwort der Mehrheit und drück auf „Mit dem Fehler neu trainieren“. Ein anderer Fehler taugt als Hausaufgabe.",
    "Le masque est inversé : chaque mot ne voit que les suivants. Faites deviner, choisissez la réponse de la majorité et appuyez sur « Réentraîner avec l’erreur ». Une autre erreur fera un devoir à la maison."],
  "teachers.show.inverted": ["mask inverted", "Maske umgedreht", "masque inversé"],
  "teachers.breaks.ask": [
    "After training, what will the attention of “it” be on? And will the loss be larger or smaller than the healthy model’s?",
    "Worauf liegt nach dem Training die Aufmerksamkeit von „it“? Und ist der Loss größer oder kleiner als der des gesunden Modells?",
    "Après l’entraînement, sur quoi portera l’attention de « it » ? Et la perte sera-t-elle plus grande ou plus petite que celle du modèle sain ?"],
  "teachers.breaks.answer": [
    "On the words after it, which it should predict. The loss is far smaller, below the dotted limit, but the model only copies: where a sentence ends, it has nothing to copy and writes badly. A very low loss can be a sign of a mistake.",
    "Auf den Wörtern danach, die es vorhersagen soll. Der Loss ist viel kleiner, unter der gepunkteten Grenze, aber das Modell schreibt nur ab: Wo ein Satz endet, gibt es nichts abzuschreiben, und es schreibt schlecht. Ein sehr kleiner Loss kann auf einen Fehler hinweisen.",
    "Sur les mots suivants, ceux qu’il doit prédire. La perte est bien plus petite, sous la limite en pointillé, mais le modèle ne fait que copier : là où une phrase s’arrête, il n’a rien à copier et écrit mal. Une perte très basse peut révéler une erreur."],

  "teachers.more": ["If there is more time", "Wenn mehr Zeit ist", "S’il reste du temps"],
  "teachers.more.gradients": [
    "“Gradients”: change one weight a little and see the loss move. By how much?",
    "„Gradienten“: Ändere ein Gewicht ein wenig und sieh, wie sich der Loss bewegt. Um wie viel?",
    "« Gradients » : modifiez un peu un poids et voyez la perte bouger. De combien ?"],
  "teachers.more.gradients.answer": [
    "By about the gradient times the change: a gradient of 3 and a change of 0.01 make about 0.03.",
    "Um etwa Gradient mal Änderung: Ein Gradient von 3 und eine Änderung von 0,01 ergeben etwa 0,03.",
    "D’environ le gradient fois la variation : un gradient de 3 et une variation de 0,01 font environ 0,03."],
  "teachers.more.heads": [
    "“Training” with 2 or 4 heads: which head finds what “it” is?",
    "„Training“ mit 2 oder 4 Köpfen: Welcher Kopf findet, was „it“ ist?",
    "« Entraînement » avec 2 ou 4 têtes : quelle tête trouve ce qu’est « it » ?"],
  "teachers.more.heads.answer": [
    "“Show head” above the table of attention switches between them: look for the head whose row of “it” is green at the subject. With another seed it can be another head.",
    "„Zeige Kopf“ über der Tabelle der Aufmerksamkeit wechselt: Such den Kopf, dessen Zeile „it“ beim Subjekt grün ist. Mit anderem Startwert kann es ein anderer sein.",
    "« Montrer la tête », au-dessus du tableau de l’attention, passe de l’une à l’autre : cherchez la tête dont la ligne « it » est verte au sujet. Avec une autre graine, ce peut être une autre."],
  "teachers.more.own": [
    "“Your own”, “A mask of your own”: press “no mask”, then “Train with this mask from step 0”; training starts. Why does the loss fall so far, and why is the model of no use?",
    "„Eigenes“, „Eine eigene Maske“: Drück auf „keine Maske“, dann auf „Mit dieser Maske ab Schritt 0 trainieren“; das Training beginnt. Warum fällt der Loss so tief, und warum taugt das Modell nichts?",
    "« À vous », « Un masque à vous » : appuyez sur « aucun masque », puis sur « Entraîner avec ce masque depuis le pas 0 » ; l’entraînement commence. Pourquoi la perte tombe-t-elle si bas, et pourquoi le modèle ne vaut-il rien ?"],
  "teachers.more.own.answer": [
    "In training each word sees the next one, which it should predict, and copies it: the loss falls to 0.002. The accuracy is 100 % for the same reason, and “tasted good” is still right, as “it” can see pizza. Now write “the pizza came” under “Your own”: there is nothing to copy, and the model writes “came came came came”.",
    "Beim Training sieht jedes Wort das nächste, das es vorhersagen soll, und schreibt es ab: Der Loss fällt auf 0,002. Aus demselben Grund ist die Genauigkeit 100 %, und „tasted good“ stimmt noch, denn „it“ sieht pizza. Schreib nun unter „Eigenes“ „the pizza came“: Es gibt nichts abzuschreiben, und das Modell schreibt „came came came came“.",
    "À l’entraînement, chaque mot voit le suivant, qu’il doit prédire, et le copie : la perte tombe à 0,002. L’exactitude est de 100 % pour la même raison, et « tasted good » reste juste, car « it » voit pizza. Écrivez maintenant « the pizza came » dans « À vous » : il n’y a rien à copier, et le modèle écrit « came came came came »."],
  "teachers.more.unseen": [
    "“The pizza came out of the oven and it tasted good” has a loss of 0.713 after 500 steps, but 0.798 after 2,000. Why does more training make it larger?",
    "„The pizza came out of the oven and it tasted good“ hat nach 500 Schritten einen Loss von 0,713, nach 2000 aber 0,798. Warum wird er mit mehr Training größer?",
    "« The pizza came out of the oven and it tasted good » a une perte de 0,713 après 500 pas, mais de 0,798 après 2000. Pourquoi augmente-t-elle ?"],
  "teachers.more.unseen.answer": [
    "This sentence is never seen in training. There pizza never comes out of the oven, and the model learns even this by heart: “oven” surprises it more and more. The word after “it” stays right.",
    "Dieser Satz kommt im Training nie vor. Dort kommt pizza nie aus dem Ofen, und auch das lernt das Modell auswendig: „oven“ überrascht es immer mehr. Das Wort nach „it“ bleibt richtig.",
    "Cette phrase n’est jamais vue à l’entraînement. Pizza n’y sort jamais du four, et le modèle apprend même cela par cœur : « oven » le surprend de plus en plus. Le mot après « it » reste juste."],
  "teachers.more.peak": [
    "Why does the loss have a peak near step 1330?",
    "Warum hat der Loss eine Spitze bei Schritt 1330?",
    "Pourquoi la perte a-t-elle un pic vers le pas 1330 ?"],
  "teachers.more.peak.answer": [
    "AdamW divides each gradient by its usual size. Late in training these are small, so at step 1316 an unusually large one made steps that were too long. Training repairs it within about 50 steps. Other seeds have no such peak.",
    "AdamW teilt jeden Gradienten durch seine übliche Größe. Spät im Training sind sie klein; darum ergab ein ungewöhnlich großer bei Schritt 1316 zu lange Schritte. Nach etwa 50 Schritten ist es behoben. Andere Startwerte haben diese Spitze nicht.",
    "AdamW divise chaque gradient par sa taille habituelle. Tard dans l’entraînement ils sont petits ; au pas 1316, un gradient inhabituellement grand a donc donné des pas trop longs. C’est réparé en une cinquantaine de pas. D’autres graines n’ont pas ce pic."],
  "teachers.more.tasks": [
    "Afterwards, build it: Heed comes with ten tasks in C or PyTorch, graded by numbers. Lesson 1 is followed by task 2, lesson 2 by task 1, 3 by 4, 4 by 3, 5 by 8, 6 by 6 and 7, 7 by 10, 8 by 5, 9 by 9. “make task-kit” packs them for a class (docs/tasks.md).",
    "Danach selbst bauen: Zu Heed gehören zehn Aufgaben in C oder PyTorch, die anhand von Zahlen bewertet werden. Auf Lektion 1 folgt Aufgabe 2, auf 2 die 1, auf 3 die 4, auf 4 die 3, auf 5 die 8, auf 6 die 6 und 7, auf 7 die 10, auf 8 die 5, auf 9 die 9. „make task-kit“ packt sie für eine Klasse (docs/tasks.md).",
    "Ensuite, construisez-le : Heed contient dix exercices en C ou en PyTorch, corrigés sur des nombres. La leçon 1 est suivie de l’exercice 2, la 2 du 1, la 3 du 4, la 4 du 3, la 5 du 8, la 6 des 6 et 7, la 7 du 10, la 8 du 5, la 9 du 9. « make task-kit » les réunit pour une classe (docs/tasks.md)."],
  "teachers.more.files": [
    "Learners who program: save the weights and continue in Python or C, under “Your own”.",
    "Wer programmiert: Gewichte speichern und in Python oder C weitermachen, unter „Eigenes“.",
    "Pour qui programme : enregistrer les poids et continuer en Python ou en C, dans « À vous »."],
};
