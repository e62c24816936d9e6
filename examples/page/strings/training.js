// Texts of the charts and of the section "Training".
export const training = {

  "train.title": ["Training, step by step", "Training, Schritt für Schritt", "L’entraînement, pas à pas"],
  "train.intro": [
    "The model reads {0} short sentences of a toy language and learns to predict the next word. At each step it sees 32 sentences, measures how wrong its predictions are (the loss), and changes every weight a little so that the loss shrinks. It is tested on {1} other sentences that it never sees in training.",
    "Das Modell liest {0} kurze Sätze einer Spielsprache und lernt, das nächste Wort vorherzusagen. In jedem Schritt sieht es 32 Sätze, misst, wie falsch seine Vorhersagen sind (den Loss), und ändert jedes Gewicht ein wenig, damit der Loss kleiner wird. Geprüft wird es an {1} anderen Sätzen, die es im Training nie sieht.",
    "Le modèle lit {0} phrases courtes d’une mini-langue et apprend à prédire le mot suivant. À chaque pas, il voit 32 phrases, mesure à quel point ses prédictions sont fausses (la perte, « loss ») et modifie un peu chaque poids pour que la perte diminue. On le teste sur {1} autres phrases qu’il ne voit jamais pendant l’entraînement."],
  "train.controls": ["Controls of the training", "Steuerung des Trainings", "Commandes de l’entraînement"],
  "train.play": ["▶ Play", "▶ Start", "▶ Lancer"],
  "train.play.why": [
    "Train until step 2,000 or until you pause. Most is learned in the first 150 steps, so these are slow.",
    "Trainiert bis Schritt 2000 oder bis zur Pause. Das meiste lernt es in den ersten 150 Schritten; darum sind diese langsam.",
    "Entraîne jusqu’au pas 2000 ou jusqu’à la pause. L’essentiel s’apprend pendant les 150 premiers pas : ceux-ci sont donc lents."],
  "train.pause": ["❚❚ Pause", "❚❚ Pause", "❚❚ Pause"],
  "train.first": ["To the beginning", "Zum Anfang", "Au début"],
  "train.first.why": ["Back to step 0, with the same first weights", "Zurück zu Schritt 0, mit denselben Anfangsgewichten", "Retour au pas 0, avec les mêmes poids initiaux"],
  "train.back": ["One step back", "Ein Schritt zurück", "Un pas en arrière"],
  "train.back.why": ["The weights as they were one step earlier, bit by bit", "Die Gewichte wie einen Schritt zuvor, Bit für Bit", "Les poids tels qu’ils étaient un pas plus tôt, bit par bit"],
  "train.step": ["One step", "Ein Schritt", "Un pas"],
  "train.step.why": ["One training step: 32 sentences, one change of the weights", "Ein Trainingsschritt: 32 Sätze, eine Änderung der Gewichte", "Un pas d’entraînement : 32 phrases, une modification des poids"],
  "train.slider": ["Step", "Schritt", "Pas"],
  "train.where": ["{0}; taken: {1} of {2}", "{0}; gemacht: {1} von {2}", "{0} ; faits : {1} sur {2}"],
  "train.heads": ["Heads", "Köpfe (Heads)", "Têtes (heads)"],
  "train.error": ["The engine stopped. It says: {0}", "Die Maschine hat angehalten. Sie sagt: {0}", "Le moteur s’est arrêté. Il dit : {0}"],
  "train.status.zero": [
    "Step 0: the weights are random numbers. The model knows nothing yet.",
    "Schritt 0: Die Gewichte sind Zufallszahlen. Das Modell weiß noch nichts.",
    "Pas 0 : les poids sont des nombres aléatoires. Le modèle ne sait encore rien."],
  "train.status": [
    "Step {0}: the loss of its 32 sentences was {1}, smoothed {2}: typically the right next word got a probability of {3}.",
    "Schritt {0}: Der Loss seiner 32 Sätze war {1}, geglättet {2}: Das richtige nächste Wort bekam typischerweise eine Wahrscheinlichkeit von {3}.",
    "Pas {0} : la perte de ses 32 phrases était de {1}, lissée {2} : en général, le bon mot suivant a reçu une probabilité de {3}."],

  "train.x": ["step", "Schritt", "pas"],
  "train.loss": ["Loss in training", "Loss im Training", "Perte pendant l’entraînement"],
  "train.loss.y": ["loss in nats; lower is better, down to the limit", "Loss in Nats; kleiner ist besser, bis zur Grenze", "perte en nats ; plus petit, c’est mieux, jusqu’à la limite"],
  "train.raw": ["each step", "jeder Schritt", "chaque pas"],
  "train.smooth": ["smoothed (each older step counts 5% less)", "geglättet (jeder ältere Schritt zählt 5 % weniger)", "lissée (chaque pas plus ancien compte 5 % de moins)"],
  "train.smooth.short": ["smoothed", "geglättet", "lissée"],
  "train.least.short": ["limit", "Grenze", "limite"],
  "train.least": ["limit without seeing later words", "Grenze, ohne spätere Wörter zu sehen", "limite sans voir les mots suivants"],
  "train.loss.hint": [
    "Point at a chart to read its values. Click, or press Enter after moving with the arrow keys, to go to that step. The upright line is the current step.",
    "Zeig auf ein Diagramm, um Werte zu lesen. Ein Klick (oder Enter nach den Pfeiltasten) geht zu diesem Schritt. Die senkrechte Linie ist der aktuelle Schritt.",
    "Touchez ou survolez un graphique pour lire ses valeurs. Un clic (ou Entrée après les flèches) va à ce pas. La ligne verticale est le pas actuel."],
  "train.scores": ["On sentences never seen in training", "An Sätzen, die im Training nie vorkamen", "Sur des phrases jamais vues à l’entraînement"],
  "train.scores.y": ["share; higher is better", "Anteil; größer ist besser", "part ; plus grand, c’est mieux"],
  "train.accuracy": ["accuracy: the likeliest word after “it” is right", "Genauigkeit: das wahrscheinlichste Wort nach „it“ ist richtig", "exactitude : le mot le plus probable après « it » est le bon"],
  "train.attention": ["attention of “it” on the thing it stands for", "Aufmerksamkeit von „it“ auf das Ding, für das es steht", "attention de « it » sur la chose qu’il désigne"],
  "train.accuracy.short": ["accuracy", "Genauigkeit", "exactitude"],
  "train.attention.short": ["attention on the subject", "Aufmerksamkeit auf das Subjekt", "attention sur le sujet"],

  "train.sentence": ["Watch the sentence", "Diesen Satz beobachten", "Observer la phrase"],
  "own.label": ["your own sentence", "dein eigener Satz", "votre propre phrase"],
  "own.words": ["All words that the model knows", "Alle Wörter, die das Modell kennt", "Tous les mots que le modèle connaît"],
  "own.unknown": ["The model does not know: {0}.", "Das Modell kennt {0} nicht.", "Le modèle ne connaît pas : {0}."],
  "own.length": ["The sentence needs 2 to {0} words.", "Der Satz braucht 2 bis {0} Wörter.", "La phrase doit avoir de 2 à {0} mots."],
  "train.head": ["Show head", "Zeige Kopf", "Montrer la tête"],
  "train.of_head": [", head {0}", ", Kopf {0}", ", tête {0}"],
  "train.heat": ["Who attends to whom, in per cent{0}", "Wer achtet auf wen, in Prozent{0}", "Qui fait attention à qui, en pour cent{0}"],
  "train.heat.why": [
    "Each row is a word that looks back; each column is a word it looks at. The stronger the green, the more it attends. Each row adds up to 100% (up to rounding). The framed row predicts the word after the sentence’s beginning. Some rows need no attention: after “and” always comes “it”, so it does not matter where “and” looks.",
    "Jede Zeile ist ein Wort, das zurückblickt, jede Spalte ein Wort, auf das es blickt. Je kräftiger das Grün, desto mehr Aufmerksamkeit. Jede Zeile ergibt 100 % (bis auf Rundung). Die umrahmte Zeile sagt das Wort nach dem Satzanfang vorher. Manche Zeilen brauchen keine Aufmerksamkeit: Nach „and“ kommt immer „it“, also ist es gleich, wohin „and“ blickt.",
    "Chaque ligne est un mot qui regarde en arrière, chaque colonne un mot qu’il regarde. Plus le vert est vif, plus il y fait attention. Chaque ligne fait 100 % (aux arrondis près). La ligne encadrée prédit le mot qui suit le début de la phrase. Certaines lignes n’ont pas besoin d’attention : après « and » vient toujours « it », peu importe donc ce que « and » regarde."],
  "train.heat.causal": [
    "Cells above the diagonal are 0: no word may look at a later one.",
    "Über der Diagonalen steht 0: Kein Wort darf auf ein späteres blicken.",
    "Au-dessus de la diagonale, tout vaut 0 : aucun mot ne peut regarder un mot suivant."],
  "train.heat.point": ["Point at a cell to read it in words.", "Zeig auf eine Zelle, um sie in Worten zu lesen.", "Touchez ou survolez une case pour la lire en mots."],
  "train.heat.reading": [
    "“{0}” gives “{1}” {2} of its attention (measured at step {3}).",
    "„{0}“ gibt „{1}“ {2} seiner Aufmerksamkeit (gemessen bei Schritt {3}).",
    "« {0} » donne à « {1} » {2} de son attention (mesuré au pas {3})."],
  "train.writes": ["What the model writes next", "Was das Modell weiterschreibt", "Ce que le modèle écrit ensuite"],
  "train.writes.why": [
    "The model continues the watched sentence after “it”, always with the likeliest word, until it ends the sentence.",
    "Das Modell setzt den beobachteten Satz nach „it“ fort, immer mit dem wahrscheinlichsten Wort, bis es den Satz beendet.",
    "Le modèle continue la phrase observée après « it », toujours avec le mot le plus probable, jusqu’à ce qu’il la termine."],
  "train.right": ["✓ right", "✓ richtig", "✓ juste"],
  "train.wrong": ["✗ wrong", "✗ falsch", "✗ faux"],
  "train.nothing": ["(nothing: it ends the sentence)", "(nichts: es beendet den Satz)", "(rien : il termine la phrase)"],

  "train.words": ["What the words mean", "Was die Wörter bedeuten", "Ce que veulent dire les mots"],
  "train.why.loss.title": ["What is the loss?", "Was ist der Loss?", "Qu’est-ce que la perte ?"],
  "train.why.loss": [
    "Each word has a surprise: −ln p, where p is the probability that the model gave to the word that really came next. 100% gives 0 (no surprise), 50% gives 0.69, 1% gives 4.6. The loss is the average over all words of the step’s 32 sentences. Its unit is the nat (natural logarithm). Backwards: e to the power of −loss is a typical probability of the right word. This counts every word, also those that nobody can know, such as the place; the accuracy counts only the word after “it”. At the beginning all {0} words are about equally likely, and the loss is near ln {0} = {1}. The raw line jumps because each step sees other sentences. A single high peak means that one step went too far; the next steps repair it.",
    "Jedes Wort hat eine Überraschung: −ln p, wobei p die Wahrscheinlichkeit ist, die das Modell dem wirklich folgenden Wort gab. 100 % gibt 0 (keine Überraschung), 50 % gibt 0,69, 1 % gibt 4,6. Der Loss ist das Mittel über alle Wörter der 32 Sätze. Die Einheit heißt Nat (natürlicher Logarithmus). Rückwärts: e hoch −Loss ist eine typische Wahrscheinlichkeit des richtigen Worts. Das zählt jedes Wort, auch solche, die niemand wissen kann, etwa den Ort; die Genauigkeit zählt nur das Wort nach „it“. Am Anfang sind alle {0} Wörter etwa gleich wahrscheinlich, der Loss liegt bei ln {0} = {1}. Die rohe Linie springt, weil jeder Schritt andere Sätze sieht. Eine einzelne hohe Spitze heißt, dass ein Schritt zu weit ging; die nächsten bringen es in Ordnung.",
    "Chaque mot a une surprise : −ln p, où p est la probabilité que le modèle a donnée au mot qui suivait vraiment. 100 % donne 0 (aucune surprise), 50 % donne 0,69, 1 % donne 4,6. La perte est la moyenne sur tous les mots des 32 phrases. Son unité est le nat (logarithme naturel). À l’inverse, e puissance −perte est une probabilité typique du bon mot. Cela compte tous les mots, même ceux que personne ne peut savoir, comme le lieu ; l’exactitude ne compte que le mot après « it ». Au début, les {0} mots sont à peu près aussi probables, et la perte est proche de ln {0} = {1}. La ligne brute saute, car chaque pas voit d’autres phrases. Un pic isolé signifie qu’un pas est allé trop loin ; les suivants réparent cela."],
  "train.why.least.title": ["Why does the loss not go to 0?", "Warum sinkt der Loss nicht bis auf 0?", "Pourquoi la perte ne descend-elle pas jusqu’à 0 ?"],
  "train.why.least": [
    "After “the” nobody can know whether pizza or robot comes. All {0} training sentences are equally likely, so to name the right one costs −ln(1 ÷ {0}) = ln {0} nats, however the words share them. Spread over the 11 words that is ln {0} ÷ 11 = {1} per word, and a model that sees only earlier words cannot stay below it. That is the dotted line. A loss that stays far below it is not a better model: it is a sign that the model sees words that it should predict (try “Break it”).",
    "Nach „the“ kann niemand wissen, ob pizza oder robot kommt. Alle {0} Trainingssätze sind gleich wahrscheinlich; den richtigen zu nennen kostet also −ln(1 ÷ {0}) = ln {0} Nats, wie immer die Wörter sie sich teilen. Auf 11 Wörter verteilt sind das ln {0} ÷ 11 = {1} je Wort, und ein Modell, das nur frühere Wörter sieht, kann nicht dauerhaft darunter bleiben. Das ist die gepunktete Linie. Ein Loss weit darunter ist kein besseres Modell: Er zeigt, dass das Modell Wörter sieht, die es vorhersagen soll (siehe „Mach es kaputt“).",
    "Après « the », personne ne peut savoir si pizza ou robot va venir. Les {0} phrases d’entraînement sont aussi probables l’une que l’autre ; désigner la bonne coûte donc −ln(1 ÷ {0}) = ln {0} nats, quelle que soit la répartition entre les mots. Sur 11 mots, cela fait ln {0} ÷ 11 = {1} par mot, et un modèle qui ne voit que les mots précédents ne peut pas rester en dessous. C’est la ligne pointillée. Une perte bien plus basse n’est pas un meilleur modèle : elle montre que le modèle voit les mots qu’il doit prédire (voir « Casser le modèle »)."],
  "train.why.accuracy.title": ["What is the accuracy?", "Was ist die Genauigkeit?", "Qu’est-ce que l’exactitude ?"],
  "train.why.accuracy": [
    "{0} sentences are kept out of training. In each of them the model names the word after “it”. The accuracy is the share of sentences where its likeliest word is the right one. These combinations of thing and place never occur in training, so the model cannot have them by heart: it must look back at the thing. Guessing would be right about once in 24.",
    "{0} Sätze werden vom Training zurückgehalten. In jedem nennt das Modell das Wort nach „it“. Die Genauigkeit ist der Anteil der Sätze, in denen sein wahrscheinlichstes Wort das richtige ist. Diese Paare von Ding und Ort kommen im Training nie vor; auswendig lernen hilft also nicht: Das Modell muss auf das Ding zurückblicken. Raten träfe etwa einmal in 24.",
    "{0} phrases sont gardées hors de l’entraînement. Dans chacune, le modèle donne le mot après « it ». L’exactitude est la part des phrases où son mot le plus probable est le bon. Ces paires de chose et de lieu n’apparaissent jamais à l’entraînement : apprendre par cœur ne sert à rien, il faut regarder la chose. Au hasard, on aurait juste environ une fois sur 24."],
  "train.why.unseen.title": [
    "Can more training make a loss larger?",
    "Kann mehr Training einen Loss vergrößern?",
    "Plus d’entraînement peut-il augmenter une perte ?"],
  "train.why.unseen": [
    "Yes, for sentences never seen. The pizza sentence, with seed 0, has a loss of 0.711 after 500 steps and 0.909 after 2,000. Nearly all of the difference is one word, “oven” (2.95, then 5.62): in training pizza never comes out of the oven, and the model learns this by heart. The word after “it” stays right. Learning such accidents of the training sentences is called overfitting.",
    "Ja, bei nie gesehenen Sätzen. Der Pizza-Satz hat mit Startwert 0 nach 500 Schritten einen Loss von 0,711, nach 2000 von 0,909. Fast der ganze Unterschied ist ein einziges Wort, „oven“ (2,95, dann 5,62): Im Training kommt pizza nie aus dem Ofen, und das lernt das Modell auswendig. Das Wort nach „it“ bleibt richtig. Solche Zufälle der Trainingssätze zu lernen heißt Überanpassung (Overfitting).",
    "Oui, pour des phrases jamais vues. La phrase de la pizza, avec la graine 0, a une perte de 0,711 après 500 pas et de 0,909 après 2000. Presque toute la différence vient d’un mot, « oven » (2,95 puis 5,62) : à l’entraînement, pizza ne sort jamais du four, et le modèle l’apprend par cœur. Le mot après « it » reste juste. Apprendre de tels hasards des phrases d’entraînement s’appelle le surapprentissage."],
  "train.why.peak.title": [
    "Why does the loss sometimes jump up?",
    "Warum springt der Loss manchmal hoch?",
    "Pourquoi la perte bondit-elle parfois ?"],
  "train.why.peak": [
    "The optimiser, AdamW, divides each gradient by its usual size of the last steps. Late in training the gradients of attention are small, so a step with an unusually large one moves the weights too far, and the next steps have to repair it. That happens with some seeds and not with others; a smaller learning rate often avoids it.",
    "Der Optimierer AdamW teilt jeden Gradienten durch seine übliche Größe der letzten Schritte. Spät im Training sind die Gradienten der Attention klein; ein Schritt mit einem ungewöhnlich großen bewegt die Gewichte dann zu weit, und die nächsten müssen es richten. Das geschieht bei manchen Startwerten, bei anderen nicht; eine kleinere Lernrate vermeidet es oft.",
    "L’optimiseur AdamW divise chaque gradient par sa taille habituelle aux derniers pas. Tard dans l’entraînement, les gradients de l’attention sont petits ; un pas au gradient inhabituellement grand déplace alors trop les poids, et les suivants doivent réparer. Cela arrive avec certaines graines et pas avec d’autres ; un taux plus petit l’évite souvent."],
  "train.why.heads.title": ["What are heads?", "Was sind Köpfe (Heads)?", "Que sont les têtes ?"],
  "train.why.heads": [
    "A head is one attention with its own W_q, W_k and W_v. With several heads the model can look at several words for different reasons at once; W_o mixes their results. This toy needs only one. The attention score above takes, in each sentence, the head whose “it” attends most to its subject.",
    "Ein Kopf ist eine Attention mit eigenem W_q, W_k und W_v. Mit mehreren Köpfen kann das Modell aus verschiedenen Gründen zugleich auf mehrere Wörter blicken; W_o mischt die Ergebnisse. Diese Spielsprache braucht nur einen. Der Wert der Aufmerksamkeit oben nimmt in jedem Satz den Kopf, dessen „it“ am meisten auf sein Subjekt achtet.",
    "Une tête est une attention avec ses propres W_q, W_k et W_v. Avec plusieurs têtes, le modèle peut regarder plusieurs mots à la fois pour des raisons différentes ; W_o mélange les résultats. Cette mini-langue n’en demande qu’une. Le score d’attention ci-dessus prend, dans chaque phrase, la tête dont le « it » fait le plus attention à son sujet."],
};
