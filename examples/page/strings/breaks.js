// Texts of the section "Break it".
export const breaks = {
  "breaks.title": ["Break it, and see what happens", "Mach es kaputt und sieh, was geschieht", "Casser le modèle, et voir ce qui se passe"],
  "breaks.intro": [
    "Each switch puts one typical mistake into the program. First answer the question; then two models train side by side from the same random numbers: a healthy one and a broken one. Some mistakes are obvious at once. Others look fine, and the most dangerous ones look better than the healthy model.",
    "Jeder Schalter baut einen typischen Fehler in das Programm ein. Beantworte zuerst die Frage; dann trainieren zwei Modelle nebeneinander mit denselben Zufallszahlen: ein gesundes und ein kaputtes. Manche Fehler sieht man sofort. Andere fallen nicht auf, und die gefährlichsten sehen besser aus als das gesunde Modell.",
    "Chaque bouton met une erreur typique dans le programme. Répondez d’abord à la question ; ensuite, deux modèles s’entraînent côte à côte avec les mêmes nombres aléatoires : un sain et un cassé. Certaines erreurs se voient tout de suite. D’autres passent inaperçues, et les plus dangereuses ont l’air meilleures que le modèle sain."],
  "breaks.menu": ["Choose a mistake", "Wähle einen Fehler", "Choisissez une erreur"],
  "breaks.signs": [
    "Red with −: the line as it should be, which is removed. Green with +: the broken line in its place.",
    "Rot mit −: die richtige Zeile, sie entfällt. Grün mit +: die kaputte Zeile an ihrer Stelle.",
    "Rouge avec − : la ligne correcte, qui est retirée. Vert avec + : la ligne cassée qui la remplace."],
  "breaks.retrain": ["Retrain with the mistake", "Mit dem Fehler neu trainieren", "Réentraîner avec l’erreur"],
  "breaks.first": ["Choose an answer first.", "Wähl zuerst eine Antwort.", "Choisissez d’abord une réponse."],
  "breaks.retrain.why": [
    "Both models: seed {0}, heads: {2}, learning rate 0.02, {1} steps; a few seconds.",
    "Beide Modelle: Startwert {0}, Köpfe: {2}, Lernrate 0,02, {1} Schritte; einige Sekunden.",
    "Les deux modèles : graine {0}, têtes : {2}, taux d’apprentissage 0,02, {1} pas ; quelques secondes."],
  "breaks.training": ["Training: step {0} of {1}", "Training: Schritt {0} von {1}", "Entraînement : pas {0} sur {1}"],
  "breaks.right": ["✓ Your answer is right: {0}", "✓ Deine Antwort stimmt: {0}", "✓ Votre réponse est juste : {0}"],
  "breaks.wrong": ["✗ It turns out differently: {0}", "✗ Es kommt anders: {0}", "✗ Ce n’est pas ce qui arrive : {0}"],
  "breaks.healthy": ["healthy", "gesund", "sain"],
  "breaks.broken": ["broken", "kaputt", "cassé"],
  "breaks.loss": ["Loss in training, smoothed", "Loss im Training, geglättet", "Perte pendant l’entraînement, lissée"],
  "breaks.loss.why": [
    "Both lines are averages in which each older step counts 5% less; the scale is logarithmic. The dotted line is the limit for a model that sees only earlier words: below it a model knows words that it should predict.",
    "Beide Linien sind Mittel, in denen jeder ältere Schritt 5 % weniger zählt; die Skala ist logarithmisch. Die gepunktete Linie ist die Grenze für ein Modell, das nur frühere Wörter sieht: Darunter kennt es Wörter, die es vorhersagen soll.",
    "Les deux lignes sont des moyennes où chaque pas plus ancien compte 5 % de moins ; l’échelle est logarithmique. La ligne pointillée est la limite d’un modèle qui ne voit que les mots précédents : en dessous, il connaît des mots qu’il devrait prédire."],
  "breaks.seen": ["What you see", "Was man sieht", "Ce qu’on voit"],
  "breaks.why": ["Why, and whether it matters", "Warum, und ob es schadet", "Pourquoi, et si c’est grave"],
  "breaks.table": ["Both models after training, seed {0}", "Beide Modelle nach dem Training, Startwert {0}", "Les deux modèles après l’entraînement, graine {0}"],
  "breaks.row.loss": ["mean loss of the last 100 steps (limit {0})", "mittlerer Loss der letzten 100 Schritte (Grenze {0})", "perte moyenne des 100 derniers pas (limite {0})"],
  "breaks.row.accuracy": [
    "accuracy: in whole sentences, never seen in training, the word after “it” is right (a model that looks ahead can copy it)",
    "Genauigkeit: in ganzen, nie gesehenen Sätzen stimmt das Wort nach „it“ (ein Modell, das vorausschaut, kann es abschreiben)",
    "exactitude : dans des phrases entières jamais vues, le mot après « it » est juste (un modèle qui regarde en avant peut le copier)"],
  "breaks.row.attention": ["attention of “it” on its subject, mean", "Aufmerksamkeit von „it“ auf sein Subjekt, Mittel", "attention de « it » sur son sujet, moyenne"],
  "breaks.row.right": [
    "writes the right word after “it” when it gets only the beginning, up to “it” (nothing to copy)",
    "schreibt nach „it“ das richtige Wort, wenn es nur den Anfang bis „it“ bekommt (nichts abzuschreiben)",
    "écrit le bon mot après « it » quand il ne reçoit que le début, jusqu’à « it » (rien à copier)"],
  "breaks.row.written": ["{0} …", "{0} …", "{0} …"],
  "breaks.of": ["{0} of {1}", "{0} von {1}", "{0} sur {1}"],
  "breaks.never": ["never", "nie", "jamais"],
  "breaks.at_step": ["at step {0}", "bei Schritt {0}", "au pas {0}"],
  "breaks.nothing": ["(nothing: it ends the sentence)", "(nichts: es beendet den Satz)", "(rien : il termine la phrase)"],
  "breaks.maps": ["Attention side by side", "Aufmerksamkeit nebeneinander", "L’attention côte à côte"],
  "breaks.maps.first": ["Attention of the first head side by side", "Aufmerksamkeit des ersten Kopfs nebeneinander", "L’attention de la première tête côte à côte"],
  "breaks.of_it": ["attention of it, in per cent", "Aufmerksamkeit von it, in Prozent", "attention de it, en pour cent"],
  "breaks.maps.why": [
    "The small maps show all words of the sentence: each row attends to the columns, no colour is 0%, full green is 100%. The framed row is “it”.",
    "Die kleinen Karten zeigen alle Wörter des Satzes: Jede Zeile achtet auf die Spalten, keine Farbe heißt 0 %, volles Grün 100 %. Die umrahmte Zeile ist „it“.",
    "Les petites cartes montrent tous les mots de la phrase : chaque ligne fait attention aux colonnes, sans couleur 0 %, vert plein 100 %. La ligne encadrée est « it »."],

  "breaks.outcome.learnt": [
    "With this seed the broken model has learned the toy all the same: its accuracy on sentences never seen is {0}, and it writes the right word after “it” in {1} of {2} sentences.",
    "Mit diesem Startwert hat das kaputte Modell die Aufgabe trotzdem gelernt: Seine Genauigkeit an nie gesehenen Sätzen ist {0}, und es schreibt in {1} von {2} Sätzen das richtige Wort nach „it“.",
    "Avec cette graine, le modèle cassé a quand même appris la tâche : son exactitude sur des phrases jamais vues est de {0}, et il écrit le bon mot après « it » dans {1} phrases sur {2}."],
  "breaks.outcome.failed": [
    "With this seed the broken model has not learned the toy: its accuracy on sentences never seen is {0}, and it writes the right word after “it” in {1} of {2} sentences.",
    "Mit diesem Startwert hat das kaputte Modell die Aufgabe nicht gelernt: Seine Genauigkeit an nie gesehenen Sätzen ist {0}, und es schreibt in {1} von {2} Sätzen das richtige Wort nach „it“.",
    "Avec cette graine, le modèle cassé n’a pas appris la tâche : son exactitude sur des phrases jamais vues est de {0}, et il écrit le bon mot après « it » dans {1} phrases sur {2}."],
  "breaks.loss.below": [
    "The loss falls to {0}, below the limit {1}.",
    "Der Loss fällt auf {0}, unter die Grenze {1}.",
    "La perte descend à {0}, sous la limite {1}."],
  "breaks.scores": [
    "In whole sentences never seen the accuracy is {0}. But where the sentence ends with “it”, the model writes the right word in {1} of {2} sentences.",
    "In ganzen, nie gesehenen Sätzen ist die Genauigkeit {0}. Endet der Satz aber mit „it“, schreibt das Modell in {1} von {2} Sätzen das richtige Wort.",
    "Dans des phrases entières jamais vues, l’exactitude est de {0}. Mais quand la phrase s’arrête à « it », le modèle écrit le bon mot dans {1} phrases sur {2}."],

  "breaks.told": [
    "When the words after “it” are cut off, the share of a word predicted before them changes by up to {0}: the model knows words that it should predict.",
    "Schneidet man die Wörter nach „it“ ab, ändert sich der Anteil eines Worts, das davor vorhergesagt wird, um bis zu {0}: Das Modell kennt Wörter, die es vorhersagen soll.",
    "Quand on coupe les mots après « it », la part d’un mot prédit avant eux change jusqu’à {0} : le modèle connaît des mots qu’il devrait prédire."],

  "breaks.no_scale": ["No scale", "Ohne Skalierung", "Sans mise à l’échelle"],
  "breaks.no_scale.what": [
    "Each query and each key has 32 numbers. The similarities q · k (sims) are no longer divided by √32 before the softmax, so they are 5.7 times as large.",
    "Jede Query und jeder Key hat 32 Zahlen. Die Ähnlichkeiten q · k (sims) werden vor der Softmax nicht mehr durch √32 geteilt; sie sind also 5,7-mal so groß.",
    "Chaque requête et chaque clé a 32 nombres. Les similarités q · k (sims) ne sont plus divisées par √32 avant la softmax ; elles sont donc 5,7 fois plus grandes."],
  "breaks.no_scale.question": [
    "At step 0, with the same random weights: how will the attention of “it” change?",
    "Bei Schritt 0, mit denselben Zufallsgewichten: Wie ändert sich die Aufmerksamkeit von „it“?",
    "Au pas 0, avec les mêmes poids aléatoires : comment l’attention de « it » change-t-elle ?"],
  "breaks.no_scale.answer.0": ["It is spread more evenly over the words.", "Sie verteilt sich gleichmäßiger auf die Wörter.", "Elle se répartit plus uniformément sur les mots."],
  "breaks.no_scale.answer.1": ["It is concentrated more on one or few words.", "Sie sammelt sich stärker auf einem oder wenigen Wörtern.", "Elle se concentre davantage sur un ou quelques mots."],
  "breaks.no_scale.answer.2": ["It stays the same, as nothing has been learned yet.", "Sie bleibt gleich, denn noch ist nichts gelernt.", "Elle reste la même, car rien n’est encore appris."],
  "breaks.no_scale.start": [
    "At step 0 the largest attention of “it” is {0}; with the scale it is {1}.",
    "Bei Schritt 0 ist die größte Aufmerksamkeit von „it“ {0}; mit Skalierung ist sie {1}.",
    "Au pas 0, la plus grande attention de « it » est de {0} ; avec la mise à l’échelle, elle est de {1}."],
  "breaks.no_scale.when": [
    "An accuracy of 90% is first measured: {0} without the scale, {1} with it.",
    "Eine Genauigkeit von 90 % wird zuerst gemessen: {0} ohne, {1} mit Skalierung.",
    "Une exactitude de 90 % est mesurée pour la première fois : {0} sans, {1} avec la mise à l’échelle."],
  "breaks.no_scale.why": [
    "The softmax turns differences of similarities into ratios: larger ones give a sharper choice. Where a word already has nearly 100%, the gradient of the softmax is nearly 0, so an early wrong choice is hard to undo. With some seeds the model recovers after a while, with others, as the one here, it stays stuck to the end. With longer queries and keys the similarities grow further. So it is a real mistake that a lucky test hides; sharp attention at the very first step gives it away.",
    "Die Softmax macht aus Unterschieden der Ähnlichkeiten Verhältnisse: Größere geben eine schärfere Auswahl. Wo ein Wort schon fast 100 % hat, ist der Gradient der Softmax fast 0; eine frühe falsche Wahl ist also schwer rückgängig zu machen. Mit manchen Startwerten erholt sich das Modell nach einer Weile, mit anderen, wie hier, bleibt es bis zum Ende stecken. Mit längeren Querys und Keys wachsen die Ähnlichkeiten weiter. Es ist also ein echter Fehler, den ein glücklicher Versuch verdeckt; ihn verrät die scharfe Aufmerksamkeit im allerersten Schritt.",
    "La softmax transforme les différences de similarités en rapports : de plus grandes donnent un choix plus net. Là où un mot a déjà presque 100 %, le gradient de la softmax est presque nul ; un mauvais choix initial est donc difficile à défaire. Avec certaines graines, le modèle s’en remet au bout d’un moment ; avec d’autres, comme ici, il reste bloqué jusqu’à la fin. Avec des requêtes et des clés plus longues, les similarités grandissent encore. C’est donc une vraie erreur qu’un essai chanceux cache ; une attention très nette dès le premier pas la trahit."],

  "breaks.wrong_dim": ["Softmax along the wrong dim", "Softmax über die falsche Dimension", "Softmax sur la mauvaise dimension"],
  "breaks.wrong_dim.what": [
    "The softmax runs down the columns instead of along the rows: it shares 100% of each looked-at word among the words that look at it.",
    "Die Softmax läuft die Spalten hinunter statt die Zeilen entlang: Sie verteilt 100 % jedes angesehenen Worts auf die Wörter, die es ansehen.",
    "La softmax parcourt les colonnes au lieu des lignes : elle partage 100 % de chaque mot regardé entre les mots qui le regardent."],
  "breaks.wrong_dim.question": [
    "What will a row, the attention of one word such as “it”, add up to?",
    "Was ergibt die Summe einer Zeile, also der Aufmerksamkeit eines Worts wie „it“?",
    "Quelle est la somme d’une ligne, l’attention d’un mot comme « it » ?"],
  "breaks.wrong_dim.answer.0": ["100%, as in every softmax.", "100 %, wie bei jeder Softmax.", "100 %, comme dans toute softmax."],
  "breaks.wrong_dim.answer.1": ["Less than 100% in every row.", "In jeder Zeile weniger als 100 %.", "Moins de 100 % dans chaque ligne."],
  "breaks.wrong_dim.answer.2": ["It varies from row to row; now the columns add up to 100%.", "Je nach Zeile etwas anderes; nun ergeben die Spalten 100 %.", "Cela dépend de la ligne ; ce sont maintenant les colonnes qui font 100 %."],
  "breaks.wrong_dim.rows": [
    "The rows of the sentence add up to between {0} and {1}, each column to 100%.",
    "Die Zeilen des Satzes ergeben zwischen {0} und {1}, jede Spalte 100 %.",
    "Les lignes de la phrase font entre {0} et {1}, chaque colonne 100 %."],
  "breaks.wrong_dim.why": [
    "To share out a column, the softmax divides by a sum over all words that look at it, also the later ones. So each number tells something about later words, and the model learns to read the answer there: that is why the loss falls below what is possible. When it writes, there are no later words, and it is lost. A loss below the limit, and rows that do not add up to 100%, give it away. No error message appears, since the shapes fit.",
    "Um eine Spalte aufzuteilen, teilt die Softmax durch eine Summe über alle Wörter, die sie ansehen, auch die späteren. So verrät jede Zahl etwas über spätere Wörter, und das Modell lernt, dort die Antwort abzulesen: Deshalb fällt der Loss unter das Mögliche. Beim Schreiben gibt es keine späteren Wörter, und es ist verloren. Ein Loss unter der Grenze und Zeilen, die nicht 100 % ergeben, verraten den Fehler. Eine Fehlermeldung gibt es nicht, denn die Größen passen zusammen.",
    "Pour partager une colonne, la softmax divise par une somme sur tous les mots qui la regardent, même les suivants. Chaque nombre révèle donc quelque chose des mots suivants, et le modèle apprend à y lire la réponse : voilà pourquoi la perte descend sous le possible. Quand il écrit, il n’y a pas de mots suivants, et il est perdu. Une perte sous la limite et des lignes qui ne font pas 100 % le trahissent. Aucun message d’erreur n’apparaît, car les dimensions concordent."],

  "breaks.mask_inverted": ["Mask inverted", "Maske umgedreht", "Masque inversé"],
  "breaks.mask_inverted.what": [
    "The mask blocks what should be seen and shows what should be blocked: each word sees only the words after it.",
    "Die Maske sperrt, was sichtbar sein soll, und zeigt, was gesperrt sein soll: Jedes Wort sieht nur die Wörter nach ihm.",
    "Le masque bloque ce qu’il faut voir et montre ce qu’il faut bloquer : chaque mot ne voit que les mots qui le suivent."],
  "breaks.mask_inverted.question": ["After training, what will the attention of “it” be on?", "Worauf liegt nach dem Training die Aufmerksamkeit von „it“?", "Après l’entraînement, sur quoi portera l’attention de « it » ?"],
  "breaks.mask_inverted.answer.0": ["On its subject, pizza.", "Auf seinem Subjekt, pizza.", "Sur son sujet, pizza."],
  "breaks.mask_inverted.answer.1": ["On the words after it: those it should predict.", "Auf den Wörtern danach: denen, die es vorhersagen soll.", "Sur les mots suivants : ceux qu’il doit prédire."],
  "breaks.mask_inverted.answer.2": ["Evenly on all words.", "Gleichmäßig auf allen Wörtern.", "À parts égales sur tous les mots."],
  "breaks.mask_inverted.later": [
    "The words after “it” get {0} of its attention, pizza gets {1}.",
    "Die Wörter nach „it“ bekommen {0} seiner Aufmerksamkeit, pizza {1}.",
    "Les mots après « it » reçoivent {0} de son attention, pizza {1}."],
  "breaks.mask_inverted.why": [
    "The model copies the answer from the words that it should predict. Loss and accuracy look wonderful, the loss far better than the healthy model’s, and it has learned nothing of use: when it writes, the answer is not there yet. This is the most treacherous of all. A loss far below the limit gives it away, and so does a test in which the model must write. (The last word sees nothing at all. Heed gives it a row of zeros; PyTorch’s softmax gives NaN for a row of −∞, and so the mistake is found at once there, unless a large negative number such as −1e9 takes the place of −∞.)",
    "Das Modell schreibt die Antwort von den Wörtern ab, die es vorhersagen soll. Loss und Genauigkeit sehen wunderbar aus, der Loss viel besser als beim gesunden Modell, und gelernt hat es nichts Brauchbares: Beim Schreiben steht die Antwort noch nicht da. Das ist der heimtückischste aller Fehler. Ein Loss weit unter der Grenze verrät ihn, ebenso eine Probe, in der das Modell schreiben muss. (Das letzte Wort sieht gar nichts. Heed gibt ihm eine Zeile aus Nullen. Die Softmax von PyTorch macht aus einer Zeile von −∞ NaN, und so fällt der Fehler dort sofort auf, außer wenn statt −∞ eine große negative Zahl wie −1e9 steht.)",
    "Le modèle copie la réponse sur les mots qu’il devrait prédire. La perte et l’exactitude semblent magnifiques, la perte bien meilleure que celle du modèle sain, et il n’a rien appris d’utile : quand il écrit, la réponse n’est pas encore là. C’est la plus sournoise de toutes les erreurs. Une perte bien en dessous de la limite la trahit, de même qu’un essai où le modèle doit écrire. (Le dernier mot ne voit rien du tout. Heed lui donne une ligne de zéros ; la softmax de PyTorch donne NaN pour une ligne de −∞, et l’erreur s’y remarque donc aussitôt, sauf si un grand nombre négatif comme −1e9 remplace −∞.)"],

  "breaks.mask_after": ["Mask after softmax", "Maske nach der Softmax", "Masque après la softmax"],
  "breaks.mask_after.what": [
    "The softmax shares 100% among all words, also the later ones; then the shares of the later ones are set to 0.",
    "Die Softmax verteilt 100 % auf alle Wörter, auch die späteren; dann werden die Anteile der späteren auf 0 gesetzt.",
    "La softmax partage 100 % entre tous les mots, même les suivants ; puis les parts des suivants sont mises à 0."],
  "breaks.mask_after.question": ["At step 0, what will the attention of “it” add up to?", "Bei Schritt 0: Was ergibt die Aufmerksamkeit von „it“ zusammen?", "Au pas 0, quelle est la somme de l’attention de « it » ?"],
  "breaks.mask_after.answer.0": ["Exactly 100%.", "Genau 100 %.", "Exactement 100 %."],
  "breaks.mask_after.answer.1": ["Less than 100%: the shares set to 0 are lost.", "Weniger als 100 %: Die auf 0 gesetzten Anteile sind verloren.", "Moins de 100 % : les parts mises à 0 sont perdues."],
  "breaks.mask_after.answer.2": ["More than 100%.", "Mehr als 100 %.", "Plus de 100 %."],
  "breaks.mask_after.sum": [
    "At step 0 the attention of “it” adds up to {0}; in the healthy model to {1}.",
    "Bei Schritt 0 ergibt die Aufmerksamkeit von „it“ zusammen {0}, im gesunden Modell {1}.",
    "Au pas 0, l’attention de « it » fait {0} ; dans le modèle sain {1}."],
  "breaks.mask_after.leak": [
    "When the words after “it” are cut off, attentions of earlier words change by up to {0}, although no word should see later ones.",
    "Schneidet man die Wörter nach „it“ ab, ändern sich Aufmerksamkeiten davor um bis zu {0}, obwohl kein Wort spätere sehen sollte.",
    "Quand on coupe les mots après « it », des attentions précédentes changent jusqu’à {0}, alors qu’aucun mot ne devrait voir les suivants."],
  "breaks.mask_after.why": [
    "The shares of later words are set to 0, but the softmax has already divided by a sum that contains them. How much is missing from 100% tells the model about later words, and it uses this to guess words that nobody can know, such as the place. With most seeds the model still learns the word after “it”, so a test of accuracy alone does not find the mistake. Rows that do not add up to 100%, and a loss below the limit, do.",
    "Die Anteile späterer Wörter werden 0, aber die Softmax hat schon durch eine Summe geteilt, die sie enthält. Wie viel an 100 % fehlt, verrät dem Modell etwas über spätere Wörter, und damit rät es Wörter, die niemand wissen kann, etwa den Ort. Mit den meisten Startwerten lernt das Modell das Wort nach „it“ trotzdem; eine Prüfung der Genauigkeit allein findet den Fehler dann nicht. Zeilen, die nicht 100 % ergeben, und ein Loss unter der Grenze finden ihn.",
    "Les parts des mots suivants deviennent 0, mais la softmax a déjà divisé par une somme qui les contient. Ce qui manque à 100 % renseigne le modèle sur les mots suivants, et il s’en sert pour deviner des mots que personne ne peut savoir, comme le lieu. Avec la plupart des graines, le modèle apprend quand même le mot après « it » ; un test d’exactitude seul ne trouve alors pas l’erreur. Des lignes qui ne font pas 100 % et une perte sous la limite la trouvent."],

  "breaks.no_positions": ["No positions", "Ohne Positionen", "Sans positions"],
  "breaks.no_positions.what": [
    "The position encodings are not added: the vector of a word is the same at each place in the sentence.",
    "Die Positionskodierungen werden nicht addiert: Der Vektor eines Worts ist an jeder Stelle des Satzes derselbe.",
    "Les encodages de position ne sont pas ajoutés : le vecteur d’un mot est le même à chaque place de la phrase."],
  "breaks.no_positions.question": [
    "After training, pizza and the place swap places in the sentence. What will the attention of “it” do?",
    "Nach dem Training tauschen pizza und der Ort im Satz die Plätze. Was macht die Aufmerksamkeit von „it“?",
    "Après l’entraînement, pizza et le lieu échangent leurs places dans la phrase. Que fait l’attention de « it » ?"],
  "breaks.no_positions.answer.0": ["It moves along: pizza gets as much as before.", "Sie wandert mit: pizza bekommt so viel wie vorher.", "Elle suit : pizza en reçoit autant qu’avant."],
  "breaks.no_positions.answer.1": ["It stays at the second place of the sentence.", "Sie bleibt am zweiten Platz des Satzes.", "Elle reste à la deuxième place de la phrase."],
  "breaks.no_positions.answer.2": ["It is spread evenly: nothing can be learned without positions.", "Sie verteilt sich gleichmäßig: Ohne Positionen ist nichts zu lernen.", "Elle se répartit uniformément : sans positions, on ne peut rien apprendre."],
  "breaks.no_positions.moves": [
    "Without positions pizza gets {0} of the attention of “it” at its usual place and {1} after the swap; the model then writes: {2}.",
    "Ohne Positionen bekommt pizza {0} der Aufmerksamkeit von „it“ am gewohnten Platz und {1} nach dem Tausch; das Modell schreibt dann: {2}.",
    "Sans positions, pizza reçoit {0} de l’attention de « it » à sa place habituelle et {1} après l’échange ; le modèle écrit alors : {2}."],
  "breaks.no_positions.healthy": [
    "With this seed the healthy model follows pizza, too, for the toy can be learned from the words alone; but the place does change its numbers: {0}, then {1}. It then writes: {2}.",
    "Mit diesem Startwert wandert auch das gesunde Modell mit pizza mit, denn die Aufgabe ist allein aus den Wörtern zu lernen; aber seine Zahlen ändern sich mit dem Platz: {0}, dann {1}. Es schreibt dann: {2}.",
    "Avec cette graine, le modèle sain suit pizza lui aussi, car les mots seuls suffisent pour apprendre la tâche ; mais la place change ses nombres : {0}, puis {1}. Il écrit alors : {2}."],
  "breaks.no_positions.why": [
    "Attention is a sum over words, and a sum does not depend on the order. “It” sees which words came before, not where. In this toy that is enough: no place is ever a subject, so the word itself says which it is. In real language it is a failure: “the dog bites the man” and “the man bites the dog” would look the same to the last word. Swap two earlier words: if no number changes at all, that gives it away.",
    "Attention ist eine Summe über Wörter, und eine Summe hängt nicht von der Reihenfolge ab. „It“ sieht, welche Wörter vorher kamen, nicht wo. In dieser Spielsprache genügt das: Kein Ort ist je ein Subjekt, das Wort selbst sagt also, was es ist. In echter Sprache ist es ein Versagen: „Hund beißt Mann“ und „Mann beißt Hund“ sähen für ein folgendes Wort gleich aus. Tausch zwei frühere Wörter: Ändert sich gar keine Zahl, verrät das den Fehler.",
    "L’attention est une somme sur les mots, et une somme ne dépend pas de l’ordre. « It » voit quels mots précèdent, pas où. Dans cette mini-langue, cela suffit : aucun lieu n’est jamais sujet, le mot lui-même dit donc ce qu’il est. Dans une vraie langue, c’est un échec : « le chien mord l’homme » et « l’homme mord le chien » seraient identiques pour un mot suivant. Échangez deux mots précédents : si aucun nombre ne change, cela trahit l’erreur."],

  "breaks.same_keys": ["W_k = W_q", "W_k = W_q", "W_k = W_q"],
  "breaks.same_keys.what": [
    "Keys are made with the weights of the queries: what a word asks for and what it offers are the same vector.",
    "Die Keys entstehen mit den Gewichten der Querys: Was ein Wort sucht und was es anbietet, ist derselbe Vektor.",
    "Les clés sont faites avec les poids des requêtes : ce qu’un mot cherche et ce qu’il offre sont le même vecteur."],
  "breaks.same_keys.question": [
    "Compare two scores: how much “it” looks for pizza, and how much pizza looks for “it”. What will they be, before the mask?",
    "Vergleiche zwei Scores: wie sehr „it“ pizza sucht, und wie sehr pizza „it“ sucht. Wie sind sie, noch vor der Maske?",
    "Comparez deux scores : combien « it » cherche pizza, et combien pizza cherche « it ». Comment seront-ils, avant le masque ?"],
  "breaks.same_keys.answer.0": ["Always equal.", "Immer gleich.", "Toujours égaux."],
  "breaks.same_keys.answer.1": ["The first is larger after training, as “it” needs pizza.", "Der erste ist nach dem Training größer, denn „it“ braucht pizza.", "Le premier est plus grand après l’entraînement, car « it » a besoin de pizza."],
  "breaks.same_keys.answer.2": ["One is the negative of the other.", "Der eine ist das Negative des anderen.", "L’un est l’opposé de l’autre."],
  "breaks.same_keys.self": [
    "At step 0 “it” gives itself {0}; in the healthy model {1}.",
    "Bei Schritt 0 gibt „it“ sich selbst {0}, im gesunden Modell {1}.",
    "Au pas 0, « it » se donne {0} ; dans le modèle sain {1}."],
  "breaks.same_keys.pair": [
    "After training the score of “it” for pizza is {0} and that of pizza for “it” is {1}: the same. In the healthy model they are {2} and {3}.",
    "Nach dem Training ist der Score von „it“ für pizza {0} und der von pizza für „it“ {1}: gleich. Im gesunden Modell sind es {2} und {3}.",
    "Après l’entraînement, le score de « it » pour pizza est {0} et celui de pizza pour « it » {1} : le même. Dans le modèle sain, ils valent {2} et {3}."],
  "breaks.same_keys.when": [
    "An accuracy of 90% is first measured: {0} with the mistake, {1} without.",
    "Eine Genauigkeit von 90 % wird zuerst gemessen: {0} mit, {1} ohne Fehler.",
    "Une exactitude de 90 % est mesurée pour la première fois : {0} avec l’erreur, {1} sans."],
  "breaks.same_keys.why": [
    "A vector times itself is the square of its length and never negative; other products can have either sign. So at first each word tends to find itself most similar. And the scores become symmetric: “it” cannot look for pizza without pizza looking for “it” just as much, which only the mask prevents here. The toy can still be learned, as pizza’s vector may grow longer than that of “it”; but many relations go one way only, and a model needs two matrices for them. A symmetric table of scores gives it away.",
    "Ein Vektor mal sich selbst ist das Quadrat seiner Länge und nie negativ; andere Produkte können jedes Vorzeichen haben. Darum findet zuerst jedes Wort meist sich selbst am ähnlichsten. Und die Scores werden symmetrisch: „it“ kann pizza nicht suchen, ohne dass pizza ebenso „it“ sucht; nur die Maske verhindert das hier. Die Spielsprache lässt sich trotzdem lernen, denn der Vektor von pizza kann länger werden als der von „it“. Aber viele Beziehungen gehen nur in eine Richtung, und dafür braucht ein Modell zwei Matrizen. Eine symmetrische Tabelle der Scores verrät den Fehler.",
    "Un vecteur multiplié par lui-même donne le carré de sa longueur, jamais négatif ; les autres produits peuvent avoir les deux signes. Au début, chaque mot tend donc à se trouver lui-même le plus semblable. Et les scores deviennent symétriques : « it » ne peut pas chercher pizza sans que pizza cherche autant « it » ; seul le masque l’empêche ici. La mini-langue s’apprend quand même, car le vecteur de pizza peut devenir plus long que celui de « it ». Mais beaucoup de relations vont dans un seul sens, et il faut deux matrices pour cela. Un tableau de scores symétrique trahit l’erreur."],

  "breaks.no_zero_grad": ["No zero_grad", "Ohne zero_grad", "Sans zero_grad"],
  "breaks.no_zero_grad.what": [
    "zero_grad is left out: the gradients are not set to 0 before backward. Each backward adds to what is there, so every step uses the sum of all gradients since the beginning.",
    "zero_grad fehlt: Die Gradienten werden vor backward nicht auf 0 gesetzt. Jedes backward addiert zu dem, was da ist; jeder Schritt benutzt also die Summe aller Gradienten seit dem Anfang.",
    "zero_grad manque : les gradients ne sont pas remis à 0 avant backward. Chaque backward ajoute à ce qui est là ; chaque pas utilise donc la somme de tous les gradients depuis le début."],
  "breaks.no_zero_grad.question": ["What will the loss do over 2,000 steps?", "Was macht der Loss über 2000 Schritte?", "Que fera la perte pendant 2000 pas ?"],
  "breaks.no_zero_grad.answer.0": ["It falls faster, as larger gradients mean larger steps.", "Er fällt schneller, denn größere Gradienten geben größere Schritte.", "Elle baisse plus vite, car de plus grands gradients font de plus grands pas."],
  "breaks.no_zero_grad.answer.1": ["It falls more slowly, but to the same value.", "Er fällt langsamer, aber auf denselben Wert.", "Elle baisse plus lentement, mais vers la même valeur."],
  "breaks.no_zero_grad.answer.2": ["It rises far above its first value.", "Er steigt weit über seinen ersten Wert.", "Elle monte bien au-dessus de sa première valeur."],
  "breaks.no_zero_grad.course": [
    "The loss begins at {0} and falls to {1} at step {2}. Then it rises, to {3} at most, and is {4} on average over the last 100 steps.",
    "Der Loss beginnt bei {0} und fällt bis Schritt {2} auf {1}. Dann steigt er, auf höchstens {3}, und ist über die letzten 100 Schritte im Mittel {4}.",
    "La perte commence à {0} et descend à {1} au pas {2}. Puis elle monte, jusqu’à {3}, et vaut {4} en moyenne sur les 100 derniers pas."],
  "breaks.no_zero_grad.end": [
    "The accuracy is {0}. The healthy model ends at a loss of {1}.",
    "Die Genauigkeit ist {0}. Das gesunde Modell endet bei einem Loss von {1}.",
    "L’exactitude est de {0}. Le modèle sain finit avec une perte de {1}."],
  "breaks.no_zero_grad.why": [
    "The sum of all old gradients points to where downhill was long ago. Like a ball that never brakes, the weights run past the valley and up the other side. At the beginning the loss does fall, as old and new gradients still agree: a test of a few dozen steps would not find the mistake. A loss that first falls and then rises far above its beginning gives it away. This is a real failure.",
    "Die Summe aller alten Gradienten zeigt dahin, wo es vor langer Zeit bergab ging. Wie eine Kugel, die nie bremst, laufen die Gewichte am Tal vorbei und drüben wieder hinauf. Am Anfang fällt der Loss, denn alte und neue Gradienten sind sich noch einig: Ein Versuch von ein paar Dutzend Schritten fände den Fehler nicht. Ein Loss, der erst fällt und dann weit über seinen Anfang steigt, verrät ihn. Das ist ein echtes Versagen.",
    "La somme de tous les anciens gradients indique où était la descente il y a longtemps. Comme une bille qui ne freine jamais, les poids dépassent la vallée et remontent de l’autre côté. Au début, la perte baisse, car anciens et nouveaux gradients sont encore d’accord : un essai de quelques dizaines de pas ne trouverait pas l’erreur. Une perte qui baisse d’abord, puis monte bien au-dessus de son début, la trahit. C’est un véritable échec."],

  "breaks.lr_100": ["Learning rate × 100", "Lernrate × 100", "Taux d’apprentissage × 100"],
  "breaks.lr_100.what": ["The learning rate is 2 instead of 0.02.", "Die Lernrate ist 2 statt 0,02.", "Le taux d’apprentissage est 2 au lieu de 0,02."],
  "breaks.lr_100.question": ["What will the loss do with a learning rate of 2?", "Was macht der Loss bei einer Lernrate von 2?", "Que fera la perte avec un taux d’apprentissage de 2 ?"],
  "breaks.lr_100.answer.0": ["It falls 100 times as fast.", "Er fällt 100-mal so schnell.", "Elle baisse 100 fois plus vite."],
  "breaks.lr_100.answer.1": ["It jumps up far, and stays above the healthy model’s to the end.", "Er springt weit hinauf und bleibt bis zum Ende über dem des gesunden Modells.", "Elle bondit très haut et reste jusqu’à la fin au-dessus de celle du modèle sain."],
  "breaks.lr_100.answer.2": ["The same: AdamW evens out the learning rate.", "Dasselbe: AdamW gleicht die Lernrate aus.", "La même chose : AdamW compense le taux d’apprentissage."],
  "breaks.lr_100.course": [
    "The loss jumps to {0} and ends at {1}; the healthy model ends at {2}.",
    "Der Loss springt auf {0} und endet bei {1}; das gesunde Modell endet bei {2}.",
    "La perte bondit à {0} et finit à {1} ; le modèle sain finit à {2}."],
  "breaks.lr_100.end": [
    "The accuracy is {0}, the attention of “it” on its subject {1}.",
    "Die Genauigkeit ist {0}, die Aufmerksamkeit von „it“ auf sein Subjekt {1}.",
    "L’exactitude est de {0}, l’attention de « it » sur son sujet de {1}."],
  "breaks.lr_100.why": [
    "With AdamW one step moves a weight by about the learning rate, whatever the size of the gradient. The healthy weights are numbers near 1, so a step of 2 throws everything away each time. Later the rate falls to 0 and the loss comes down again, but attention does not recover. The model learns what works without it, such as which word follows “came out”. This is a real failure, but after such a leap its loss at the end looks small; look at accuracy and attention, and at the whole curve.",
    "Mit AdamW bewegt ein Schritt ein Gewicht um etwa die Lernrate, gleich wie groß der Gradient ist. Gesunde Gewichte sind Zahlen um 1; ein Schritt von 2 wirft jedes Mal alles um. Später fällt die Rate auf 0 und der Loss kommt wieder herunter, aber die Attention erholt sich nicht. Das Modell lernt, was ohne sie geht, etwa welches Wort auf „came out“ folgt. Das ist ein echtes Versagen, aber nach so einem Sprung sieht der Loss am Ende klein aus; achte auf Genauigkeit und Aufmerksamkeit und auf die ganze Kurve.",
    "Avec AdamW, un pas déplace un poids d’environ le taux d’apprentissage, quelle que soit la taille du gradient. Les poids sains sont des nombres proches de 1 ; un pas de 2 bouleverse tout à chaque fois. Plus tard, le taux descend à 0 et la perte redescend, mais l’attention ne s’en remet pas. Le modèle apprend ce qui marche sans elle, par exemple quel mot suit « came out ». C’est un véritable échec, mais après un tel bond la perte finale semble petite ; regardez l’exactitude, l’attention et toute la courbe."],

  "breaks.split_view": ["Heads split by view", "Köpfe mit view geteilt", "Têtes coupées par view"],
  "breaks.split_view.what": [
    "One matrix makes the queries of {0} heads, 32 numbers for each word. Head 1 should get numbers 0 to {2} of every word. A view alone has the right shape, but cuts the numbers in the order in which they lie in memory: head 1 gets the beginning of the sentence, the last head its end. Keys and values too.",
    "Eine Matrix erzeugt die Querys von {0} Köpfen, 32 Zahlen für jedes Wort. Kopf 1 soll die Zahlen 0 bis {2} jedes Worts bekommen. Ein view allein hat die richtige Form, teilt die Zahlen aber in der Reihenfolge, in der sie im Speicher liegen: Kopf 1 bekommt den Anfang des Satzes, der letzte Kopf das Ende. Ebenso bei Keys und Values.",
    "Une matrice produit les requêtes de {0} têtes, 32 nombres par mot. La tête 1 devrait recevoir les nombres 0 à {2} de chaque mot. Un view seul a la bonne forme, mais coupe les nombres dans l’ordre où ils sont en mémoire : la tête 1 reçoit le début de la phrase, la dernière tête la fin. De même pour les clés et les valeurs."],
  "breaks.split_view.question": [
    "The causal mask is in place in every head. How will the model train?",
    "Die kausale Maske steht in allen Köpfen. Wie lernt das Modell?",
    "Le masque causal est en place dans toutes les têtes. Comment le modèle s’entraîne-t-il ?"],
  "breaks.split_view.answer.0": ["Not at all: an error says that the shapes do not fit.", "Gar nicht: Ein Fehler meldet, dass die Formen nicht passen.", "Pas du tout : une erreur dit que les formes ne concordent pas."],
  "breaks.split_view.answer.1": ["Too well: its loss falls below the limit.", "Zu gut: Sein Loss fällt unter die Grenze.", "Trop bien : sa perte descend sous la limite."],
  "breaks.split_view.answer.2": ["Badly: its loss stays high.", "Schlecht: Sein Loss bleibt hoch.", "Mal : sa perte reste élevée."],
  "breaks.split_view.why": [
    "The mask blocks later rows, but rows are no longer words. Row 0 of the last head comes from a later word, and merging gives it to the first word. So each word gets pieces of later ones, and no mask can prevent that. The loss looks better than the best possible one; when the model writes, the later words do not exist yet. Split with view and transpose: (T, C) becomes (T, heads, C / heads), then (heads, T, C / heads).",
    "Die Maske sperrt spätere Zeilen, aber Zeilen sind keine Wörter mehr. Zeile 0 des letzten Kopfs kommt von einem späteren Wort, und beim Zusammenfügen bekommt sie das erste Wort. So erhält jedes Wort Stücke von späteren, und keine Maske kann das verhindern. Der Loss sieht besser aus als der bestmögliche; beim Schreiben gibt es die späteren Wörter noch nicht. Teile mit view und transpose: Aus (T, C) wird (T, heads, C / heads), dann (heads, T, C / heads).",
    "Le masque bloque les lignes suivantes, mais les lignes ne sont plus des mots. La ligne 0 de la dernière tête vient d’un mot suivant, et la fusion la donne au premier mot. Chaque mot reçoit donc des morceaux des suivants, et aucun masque ne peut l’empêcher. La perte paraît meilleure que la meilleure possible ; quand le modèle écrit, les mots suivants n’existent pas encore. Coupez avec view et transpose : (T, C) devient (T, heads, C / heads), puis (heads, T, C / heads)."],

  "breaks.merge_view": ["Heads merged by view", "Köpfe mit view vereint", "Têtes réunies par view"],
  "breaks.merge_view.what": [
    "{0} heads, rightly split, attend to the words before. Then their results, (heads, T, C / heads), are merged to (T, C) without transposing back: the first word gets the first {0} rows of head 1 instead of its own row of each head.",
    "{0} Köpfe, richtig geteilt, achten auf die Wörter davor. Dann werden ihre Ergebnisse, (heads, T, C / heads), zu (T, C) vereint, ohne zurück zu transponieren: Das erste Wort bekommt die ersten {0} Zeilen von Kopf 1 statt seiner eigenen Zeile von jedem Kopf.",
    "{0} têtes, bien coupées, regardent les mots précédents. Puis leurs résultats, (heads, T, C / heads), sont réunis en (T, C) sans transposition inverse : le premier mot reçoit les {0} premières lignes de la tête 1 au lieu de sa propre ligne de chaque tête."],
  "breaks.merge_view.question": [
    "Every percentage of attention obeys the mask. Which words does a prediction depend on?",
    "Jeder Prozentwert der Aufmerksamkeit hält sich an die Maske. Von welchen Wörtern hängt eine Vorhersage ab?",
    "Chaque pourcentage d’attention respecte le masque. De quels mots dépend une prédiction ?"],
  "breaks.merge_view.answer.0": ["On its own word and those before it: the mask sees to that.", "Von seinem Wort und denen davor: Dafür sorgt die Maske.", "De son mot et des précédents : le masque y veille."],
  "breaks.merge_view.answer.1": ["On its own word alone.", "Nur von seinem eigenen Wort.", "De son propre mot seulement."],
  "breaks.merge_view.answer.2": ["Also on words after it.", "Auch von Wörtern danach.", "Aussi de mots suivants."],
  "breaks.merge_view.why": [
    "The mask is right, and the percentages never see the future. The mix-up comes after them: the first word receives the rows of words 1 to {0}, so it knows the words that it should predict. Nothing in the attention gives it away; a loss far below the limit does, and so does a prediction that changes with words after it. Merge in the reverse order: transpose first, then view.",
    "Die Maske stimmt, und die Prozentwerte sehen nie in die Zukunft. Die Verwechslung kommt danach: Das erste Wort erhält die Zeilen der Wörter 1 bis {0} und kennt so die Wörter, die es vorhersagen soll. In der Aufmerksamkeit verrät das nichts; ein Loss weit unter der Grenze verrät es, ebenso eine Vorhersage, die sich mit Wörtern danach ändert. Vereine in umgekehrter Reihenfolge: erst transpose, dann view.",
    "Le masque est juste, et les pourcentages ne voient jamais l’avenir. La confusion vient après : le premier mot reçoit les lignes des mots 1 à {0} et connaît donc les mots qu’il devrait prédire. Rien dans l’attention ne le trahit ; une perte bien en dessous de la limite le fait, de même qu’une prédiction qui change avec les mots suivants. Réunissez dans l’ordre inverse : d’abord transpose, puis view."],

  "breaks.scale_d_model": ["Scale by d_model", "Skalierung mit d_model", "Échelle par d_model"],
  "breaks.scale_d_model.what": [
    "With {0} heads each query has {1} numbers. The similarities should be divided by √{1}; here they are divided by √32, the root of d_model, so they are too small.",
    "Mit {0} Köpfen hat jede Query {1} Zahlen. Die Ähnlichkeiten sollen durch √{1} geteilt werden; hier werden sie durch √32 geteilt, die Wurzel von d_model, und sind zu klein.",
    "Avec {0} têtes, chaque requête a {1} nombres. Les similarités devraient être divisées par √{1} ; ici elles le sont par √32, la racine de d_model, et sont donc trop petites."],
  "breaks.scale_d_model.question": [
    "At step 0, with the same random weights: how will the attention of “it” in the first head differ?",
    "Bei Schritt 0, mit denselben Zufallsgewichten: Wie unterscheidet sich die Aufmerksamkeit von „it“ im ersten Kopf?",
    "Au pas 0, avec les mêmes poids aléatoires : en quoi l’attention de « it » dans la première tête diffère-t-elle ?"],
  "breaks.scale_d_model.answer.0": ["It is spread more evenly.", "Sie ist gleichmäßiger verteilt.", "Elle est répartie plus uniformément."],
  "breaks.scale_d_model.answer.1": ["It is sharper.", "Sie ist schärfer.", "Elle est plus nette."],
  "breaks.scale_d_model.answer.2": ["It no longer adds up to 100%.", "Sie ergibt nicht mehr 100 %.", "Elle ne fait plus 100 %."],
  "breaks.scale_d_model.start": [
    "At step 0 the largest attention of “it” in the first head is {0}; with the root of the head’s width it is {1}.",
    "Bei Schritt 0 ist die größte Aufmerksamkeit von „it“ im ersten Kopf {0}; mit der Wurzel der Breite des Kopfs ist sie {1}.",
    "Au pas 0, la plus grande attention de « it » dans la première tête est de {0} ; avec la racine de la largeur de la tête, elle est de {1}."],
  "breaks.scale_d_model.when": [
    "An accuracy of 90% is first measured: {0} with √32, {1} with √{2}.",
    "Eine Genauigkeit von 90 % wird zuerst gemessen: {0} mit √32, {1} mit √{2}.",
    "Une exactitude de 90 % est mesurée pour la première fois : {0} avec √32, {1} avec √{2}."],
  "breaks.scale_d_model.why": [
    "This one is harmless here: the model learns larger queries and keys, which make up for it. Nothing leaks, and the loss is as good, so no test of results finds it. It matters when weights are exchanged: they fit only the scale that they were trained with, and in right code the similarities are too large. The width to divide by is that of the vectors whose product is taken: the head’s.",
    "Dieser Fehler schadet hier nicht: Das Modell lernt größere Querys und Keys, die das ausgleichen. Nichts sickert durch, und der Loss ist ebenso gut; keine Prüfung der Ergebnisse findet ihn. Er zählt, wenn Gewichte ausgetauscht werden: Sie passen nur zu der Skalierung, mit der sie trainiert wurden, und in richtigem Code sind die Ähnlichkeiten zu groß. Geteilt wird durch die Wurzel der Breite der Vektoren, deren Produkt man nimmt: der des Kopfs.",
    "Cette erreur est inoffensive ici : le modèle apprend des requêtes et des clés plus grandes, qui compensent cela. Rien ne fuit, et la perte est aussi bonne ; aucun test des résultats ne la trouve. Elle compte quand on échange des poids : ils ne vont qu’avec l’échelle de leur entraînement, et dans un code juste les similarités sont trop grandes. On divise par la racine de la largeur des vecteurs dont on prend le produit : celle de la tête."],
};
