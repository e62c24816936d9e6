// Texts of the explanations. In sentences about operations {0}, {1} and {2} are the names of the inputs, {3} is a
// number; in those about derivatives {0} is the name of the result, {1} and {2} are the inputs' names, {3} and {4} the
// same transposed, {5} the result's gradient.
export const explaining = {
  "explain.more": ["… ({0} more)", "… (noch {0})", "… (encore {0})"],

  // ---- operations ----
  "explain.matmul": [
    "Matrix product: multiply a row of {0} by a column of {1}, number by number, and add up the products. Python writes {0} @ {1}.",
    "Matrixprodukt: Eine Zeile von {0} wird Zahl für Zahl mit einer Spalte von {1} multipliziert, und die Produkte werden addiert. In Python schreibt man {0} @ {1}.",
    "Produit de matrices : on multiplie une ligne de {0} par une colonne de {1}, nombre par nombre, et on additionne les produits. En Python, on écrit {0} @ {1}."],
  "explain.linear": ["Multiply a row of {0} by a row of the weights {1}, number by number, and add up the products: this is called a linear layer. Training chooses the weights.",
    "Eine Zeile von {0} wird Zahl für Zahl mit einer Zeile der Gewichte {1} multipliziert, und die Produkte werden addiert: Das heißt lineare Schicht. Das Training bestimmt die Gewichte.",
    "On multiplie une ligne de {0} par une ligne des poids {1}, nombre par nombre, et on additionne les produits : c’est une couche linéaire. L’entraînement choisit les poids."],
  "explain.linear.bias": [
    "Linear layer with a bias: multiply a row of {0} by a row of the weights {1}, add up the products, then add {2}. Training chooses weights and bias.",
    "Lineare Schicht mit Bias: Eine Zeile von {0} wird mit einer Zeile der Gewichte {1} multipliziert, die Produkte werden addiert, dann kommt {2} dazu. Das Training bestimmt Gewichte und Bias.",
    "Couche linéaire avec biais : on multiplie une ligne de {0} par une ligne des poids {1}, on additionne les produits, puis on ajoute {2}. L’entraînement choisit les poids et le biais."],
  "explain.transpose": [
    "{0} with rows and columns swapped: the number stays the same, its place changes.",
    "{0} mit vertauschten Zeilen und Spalten: Die Zahl bleibt, ihr Platz ändert sich.",
    "{0} avec lignes et colonnes échangées : le nombre reste le même, sa place change."],
  "explain.reshape": [
    "The same numbers as {0}, in the same order, arranged in another shape.",
    "Dieselben Zahlen wie {0} in derselben Reihenfolge, in anderer Form angeordnet.",
    "Les mêmes nombres que {0}, dans le même ordre, disposés autrement."],
  "explain.squeeze": ["{0} without a dimension of size 1.", "{0} ohne eine Dimension der Größe 1.", "{0} sans une dimension de taille 1."],
  "explain.unsqueeze": ["{0} with one more dimension, of size 1.", "{0} mit einer weiteren Dimension der Größe 1.", "{0} avec une dimension de plus, de taille 1."],
  "explain.expand": [
    "The number of {0}, repeated so that it fits a larger matrix.",
    "Die Zahl aus {0}, wiederholt, damit sie zu einer größeren Matrix passt.",
    "Le nombre de {0}, répété pour s’adapter à une matrice plus grande."],
  "explain.slice": ["A part of {0}: the number is copied.", "Ein Ausschnitt aus {0}: Die Zahl wird übernommen.", "Une partie de {0} : le nombre est repris tel quel."],
  "explain.add": ["{0} and {1} are added, cell by cell.", "{0} und {1} werden Zelle für Zelle addiert.", "{0} et {1} sont additionnés, case par case."],
  "explain.add.several": ["{0} are added, cell by cell.", "{0} werden Zelle für Zelle addiert.", "{0} sont additionnés, case par case."],
  "explain.sub": ["{1} is subtracted from {0}, cell by cell.", "{1} wird Zelle für Zelle von {0} abgezogen.", "{1} est soustrait de {0}, case par case."],
  "explain.mul": ["{0} and {1} are multiplied, cell by cell.", "{0} und {1} werden Zelle für Zelle multipliziert.", "{0} et {1} sont multipliés, case par case."],
  "explain.div": ["{0} is divided by {1}, cell by cell.", "{0} wird Zelle für Zelle durch {1} geteilt.", "{0} est divisé par {1}, case par case."],
  "explain.mul_scalar": ["Every number of {0} is multiplied by {3}.", "Jede Zahl von {0} wird mit {3} multipliziert.", "Chaque nombre de {0} est multiplié par {3}."],
  "explain.div_scalar": [
    "Every number of {0} is divided by {3}. This changes how large the numbers are, but not their order.",
    "Jede Zahl von {0} wird durch {3} geteilt. Das ändert, wie groß die Zahlen sind, aber nicht ihre Reihenfolge.",
    "Chaque nombre de {0} est divisé par {3}. Cela change la taille des nombres, mais pas leur ordre."],
  "explain.pow_scalar": ["Every number of {0} to the power of {3}.", "Jede Zahl von {0} hoch {3}.", "Chaque nombre de {0} à la puissance {3}."],
  "explain.square": [
    "Every number of {0} times itself. A square is never negative, and large numbers count more.",
    "Jede Zahl von {0} mal sich selbst. Ein Quadrat ist nie negativ, und große Zahlen zählen mehr.",
    "Chaque nombre de {0} multiplié par lui-même. Un carré n’est jamais négatif, et les grands nombres comptent plus."],
  "explain.neg": ["{0} with the opposite sign.", "{0} mit umgekehrtem Vorzeichen.", "{0} avec le signe opposé."],
  "explain.sum": ["Numbers of {0} are added up.", "Zahlen aus {0} werden addiert.", "Des nombres de {0} sont additionnés."],
  "explain.mean": [
    "The mean of numbers of {0}: add them up and divide by how many there are.",
    "Der Mittelwert von Zahlen aus {0}: addieren und durch die Anzahl teilen.",
    "La moyenne de nombres de {0} : on les additionne et on divise par leur nombre."],
  "explain.softmax.row": ["Softmax of a row of {0}: exp(x) is the number e ≈ 2.718 to the power of x. It makes every number positive and large ones much larger. Dividing by the sum of the row gives shares that add up to 1.",
    "Softmax einer Zeile von {0}: exp(x) ist die Zahl e ≈ 2,718 hoch x. Das macht jede Zahl positiv und große viel größer. Geteilt durch die Summe der Zeile werden daraus Anteile, die zusammen 1 ergeben.",
    "Softmax d’une ligne de {0} : exp(x) est le nombre e ≈ 2,718 à la puissance x. Tout nombre devient positif, et les grands beaucoup plus grands. Divisés par la somme de la ligne, ils deviennent des parts dont le total est 1."],
  "explain.softmax.column": [
    "Softmax of a column of {0}: exp makes every number positive, and dividing by their sum turns the column into shares that add up to 1. The rows no longer add up to 1.",
    "Softmax einer Spalte von {0}: exp macht jede Zahl positiv, und das Teilen durch ihre Summe macht aus der Spalte Anteile, die zusammen 1 ergeben. Die Zeilen ergeben nicht mehr 1.",
    "Softmax d’une colonne de {0} : exp rend chaque nombre positif, et la division par leur somme fait de la colonne des parts dont le total est 1. Le total des lignes n’est plus 1."],
  "explain.softmax.blocked": [
    "All numbers here are −∞: everything is blocked. The quotient would be 0 / 0, so the result is set to 0.",
    "Alle Zahlen hier sind −∞: Alles ist gesperrt. Der Quotient wäre 0 / 0, deshalb wird das Ergebnis auf 0 gesetzt.",
    "Tous les nombres ici sont −∞ : tout est bloqué. Le quotient serait 0 / 0 ; le résultat est donc fixé à 0."],
  "explain.masked_fill.blocked": [
    "The mask blocks this cell: {3} takes the place of the number from {0}.",
    "Die Maske sperrt diese Zelle: {3} ersetzt die Zahl aus {0}.",
    "Le masque bloque cette case : {3} remplace le nombre de {0}."],
  "explain.masked_fill.open": [
    "The mask does not block this cell: the number from {0} stays.",
    "Die Maske sperrt diese Zelle nicht: Die Zahl aus {0} bleibt.",
    "Le masque ne bloque pas cette case : le nombre de {0} reste."],
  "explain.tril": [
    "{0} on and below the diagonal, 0 above it.", "{0} auf und unter der Diagonale, 0 darüber.", "{0} sur la diagonale et en dessous, 0 au-dessus."],
  "explain.logical_not": [
    "{0} inverted: 1 becomes 0, and 0 becomes 1.", "{0} umgekehrt: Aus 1 wird 0, aus 0 wird 1.", "{0} inversé : 1 devient 0, et 0 devient 1."],
  "explain.cat": [
    "Matrices are put side by side: the number is copied.",
    "Matrizen werden nebeneinandergestellt: Die Zahl wird übernommen.",
    "Des matrices sont mises côte à côte : le nombre est repris tel quel."],
  "explain.slice_backward.inside": [
    "This cell was in the part that was used, so its gradient is copied from {0}.",
    "Diese Zelle war in dem Ausschnitt, der benutzt wurde. Ihr Gradient wird aus {0} übernommen.",
    "Cette case était dans la partie utilisée : son gradient est repris de {0}."],
  "explain.slice_backward.outside": [
    "This cell was not in the part that was used: it does not change the loss, so its gradient is 0.",
    "Diese Zelle war nicht in dem Ausschnitt, der benutzt wurde: Sie ändert den Loss nicht, ihr Gradient ist 0.",
    "Cette case n’était pas dans la partie utilisée : elle ne change pas la perte, son gradient est donc 0."],
  "explain.embedding": [
    "Look-up: the word has number {3}, so its numbers are row {3} of {1}.",
    "Nachschlagen: Das Wort hat die Nummer {3}, seine Zahlen sind also Zeile {3} von {1}.",
    "Consultation : le mot porte le numéro {3}, ses nombres sont donc la ligne {3} de {1}."],
  "explain.embedding_dense_backward": [
    "The gradient of row {3}: the gradients of all places where word {3} stands, added up.",
    "Der Gradient von Zeile {3}: die Summe der Gradienten aller Stellen, an denen Wort {3} steht.",
    "Le gradient de la ligne {3} : la somme des gradients de toutes les places où se trouve le mot {3}."],
  "explain.embedding_dense_backward.absent": [
    "Word {3} is not in the sentence: its row does not change the loss, so its gradient is 0.",
    "Wort {3} kommt im Satz nicht vor: Seine Zeile ändert den Loss nicht, ihr Gradient ist 0.",
    "Le mot {3} n’est pas dans la phrase : sa ligne ne change pas la perte, son gradient est donc 0."],
  "explain.cross_entropy": [
    "Cross-entropy: for every word, log of the sum of all exp, minus the number of the right next word; then the mean. This is −log of the right word’s softmax share: 0 if the model is certain of it, large if it is surprised.",
    "Kreuzentropie: für jedes Wort der Logarithmus der Summe aller exp minus die Zahl des richtigen nächsten Wortes, dann der Mittelwert. Das ist −log des Softmax-Anteils des richtigen Wortes: 0, wenn das Modell sicher ist, groß, wenn es überrascht wird.",
    "Entropie croisée : pour chaque mot, le logarithme de la somme de tous les exp, moins le nombre du bon mot suivant ; puis la moyenne. C’est −log de la part softmax du bon mot : 0 si le modèle en est certain, grand s’il est surpris."],
  "explain.nll_weights": [
    "This is the right next word. The loss contains −log of its share, once in the mean: −1 divided by how many words are predicted.",
    "Dies ist das richtige nächste Wort. Der Loss enthält −log seines Anteils, einmal im Mittelwert: −1 geteilt durch die Anzahl der vorhergesagten Wörter.",
    "C’est le bon mot suivant. La perte contient −log de sa part, une fois dans la moyenne : −1 divisé par le nombre de mots prédits."],
  "explain.nll_weights.other": [
    "This is not the right next word, so the loss does not contain the log of its share.",
    "Dies ist nicht das richtige nächste Wort. Der Loss enthält den Logarithmus seines Anteils nicht.",
    "Ce n’est pas le bon mot suivant : la perte ne contient pas le logarithme de sa part."],
  "explain.one": [
    "Backward starts here: if the loss grows by a little, the loss grows by the same. So this gradient is 1.",
    "Hier beginnt die Rückwärtsrechnung: Wächst der Loss um ein wenig, wächst der Loss um ebenso viel. Dieser Gradient ist also 1.",
    "La rétropropagation commence ici : si la perte augmente un peu, la perte augmente d’autant. Ce gradient vaut donc 1."],
  "explain.unused": [
    "The loss does not use this number: changing it changes nothing, so its gradient is 0.",
    "Der Loss benutzt diese Zahl nicht: Sie zu ändern ändert nichts, ihr Gradient ist also 0.",
    "La perte n’utilise pas ce nombre : le changer ne change rien, son gradient vaut donc 0."],
  "explain.unknown": [
    "Computed from {0}. This page has no formula for this operation.",
    "Berechnet aus {0}. Diese Seite hat keine Formel für diese Operation.",
    "Calculé à partir de {0}. Cette page n’a pas de formule pour cette opération."],

  // ---- rules of derivatives ----
  "explain.rule": ["A step on the way back through {0}.",
    "Ein Schritt auf dem Weg zurück durch {0}.",
    "Une étape du chemin de retour à travers {0}."],
  "explain.rule.matmul": ["{1} was multiplied by {2}. So the gradient of each of the two is the gradient of the result, multiplied by the other one.",
    "{1} wurde mit {2} multipliziert. Der Gradient jedes der beiden ist also der Gradient des Ergebnisses, multipliziert mit dem anderen.",
    "{1} a été multiplié par {2}. Le gradient de chacun des deux est donc le gradient du résultat, multiplié par l’autre."],
  "explain.rule.linear": ["{0} was made by multiplying {1} by the weights {2}. So the gradient of the weights is the gradient of {0} multiplied by {1}, and the gradient of {1} is the gradient of {0} multiplied by the weights.",
    "{0} entstand, indem {1} mit den Gewichten {2} multipliziert wurde. Der Gradient der Gewichte ist also der Gradient von {0} mal {1}, und der Gradient von {1} ist der Gradient von {0} mal die Gewichte.",
    "{0} vient de la multiplication de {1} par les poids {2}. Le gradient des poids est donc le gradient de {0} multiplié par {1}, et le gradient de {1} est le gradient de {0} multiplié par les poids."],
  "explain.rule.softmax": ["The shares of the softmax compete: if one grows, the others shrink. So the gradient is share × (the gradient of this share − the average gradient of its row, weighted by the shares). This number is that result, or a step towards it.",
    "Die Anteile der Softmax stehen im Wettbewerb: Wächst einer, schrumpfen die anderen. Darum ist der Gradient Anteil × (Gradient dieses Anteils − mittlerer Gradient seiner Zeile, gewichtet mit den Anteilen). Diese Zahl ist das Ergebnis davon oder ein Schritt dahin.",
    "Les parts de la softmax sont en concurrence : si l’une augmente, les autres diminuent. Le gradient est donc part × (gradient de cette part − gradient moyen de sa ligne, pondéré par les parts). Ce nombre en est le résultat, ou une étape."],
  "explain.rule.masked_fill": ["A number that the mask blocks has no influence on the loss, so its gradient is 0; all others pass through.",
    "Eine von der Maske gesperrte Zahl hat keinen Einfluss auf den Loss, ihr Gradient ist 0; alle anderen gehen durch.",
    "Un nombre bloqué par le masque n’a pas d’influence sur la perte, son gradient est 0 ; tous les autres passent."],
  "explain.rule.div_scalar": ["Forward, the number was divided. Backward, its gradient is divided by the same number.",
    "Vorwärts wurde die Zahl geteilt. Rückwärts wird ihr Gradient durch dieselbe Zahl geteilt.",
    "Vers l’avant, le nombre a été divisé. Vers l’arrière, son gradient est divisé par le même nombre."],
  "explain.rule.cat": ["Forward, matrices were put side by side. Backward, each gets its own part of the gradient.",
    "Vorwärts wurden Matrizen nebeneinandergestellt. Rückwärts bekommt jede ihren Teil des Gradienten.",
    "Vers l’avant, des matrices ont été mises côte à côte. Vers l’arrière, chacune reçoit sa partie du gradient."],
  "explain.rule.slice": ["Only a part was used. Outside of it, the gradient is 0.",
    "Nur ein Ausschnitt wurde benutzt. Außerhalb davon ist der Gradient 0.",
    "Seule une partie a servi. En dehors, le gradient est 0."],
  "explain.rule.square": ["The gradient of a square x² is 2x: 2 × {1}, times the gradient of the square. This number is that result, or a step towards it.",
    "Der Gradient eines Quadrats x² ist 2x: 2 × {1}, mal den Gradienten des Quadrats. Diese Zahl ist das Ergebnis davon oder ein Schritt dahin.",
    "Le gradient d’un carré x² est 2x : 2 × {1}, fois le gradient du carré. Ce nombre en est le résultat, ou une étape."],
  "explain.rule.sum": ["If a term of a sum grows by a little, the sum grows by the same. So every term gets the gradient of the sum.",
    "Wächst ein Summand um ein wenig, so wächst die Summe um ebenso viel. Jeder Summand bekommt also den Gradienten der Summe.",
    "Si un terme augmente un peu, la somme augmente d’autant. Chaque terme reçoit donc le gradient de la somme."],
  "explain.rule.cross_entropy": ["The gradient of a logit is the probability of its word, minus 1 if it is the right word, divided by how many words are predicted. This number is that result, or a step towards it.",
    "Der Gradient eines Logits ist die Wahrscheinlichkeit seines Worts, minus 1, wenn es das richtige ist, geteilt durch die Anzahl der vorhergesagten Wörter. Diese Zahl ist das Ergebnis davon oder ein Schritt dahin.",
    "Le gradient d’un logit est la probabilité de son mot, moins 1 si c’est le bon mot, divisé par le nombre de mots prédits. Ce nombre en est le résultat, ou une étape."],
  "explain.rule.embedding": ["Each row of {2} collects the gradients of the places where its word stands.",
    "Jede Zeile von {2} sammelt die Gradienten der Stellen, an denen ihr Wort steht.",
    "Chaque ligne de {2} recueille les gradients des places où se trouve son mot."],
  "explain.rule.uses": ["The number is used in several lines. Its gradient is the sum of what all of them contribute.",
    "Die Zahl wird in mehreren Zeilen benutzt. Ihr Gradient ist die Summe dessen, was sie alle beitragen.",
    "Le nombre sert à plusieurs lignes. Son gradient est la somme de toutes leurs contributions."],

  // ---- remarks ----
  "explain.rounded": [
    "≈: Computed from the digits shown, the last digit of the result can come out different. The page computes with 7 digits and rounds after each step.",
    "≈: Aus den gezeigten Ziffern berechnet kann die letzte Ziffer des Ergebnisses anders ausfallen. Die Seite rechnet mit 7 Ziffern und rundet nach jedem Schritt.",
    "≈ : calculé à partir des chiffres affichés, le dernier chiffre du résultat peut être différent. La page calcule avec 7 chiffres et arrondit après chaque étape."],
  "explain.note.fused": [
    "Here backward is recorded operation by operation and gives {0}. Training computes the same with fewer, larger operations, which round differently: {1}.",
    "Hier wird die Rückwärtsrechnung Operation für Operation aufgezeichnet und ergibt {0}. Das Training rechnet dasselbe mit weniger, größeren Operationen, die anders runden: {1}.",
    "Ici, la rétropropagation est enregistrée opération par opération et donne {0}. L’entraînement calcule la même chose avec moins d’opérations, plus grandes, qui arrondissent autrement : {1}."],
  "explain.note.max": [
    "exp of these numbers is too large for a computer’s number. So the largest of them is subtracted from all first, which leaves the quotient unchanged.",
    "exp dieser Zahlen ist zu groß für eine Zahl im Computer. Deshalb wird zuerst die größte von allen abgezogen, was den Quotienten nicht ändert.",
    "exp de ces nombres est trop grand pour un nombre d’ordinateur. On soustrait donc d’abord le plus grand à tous, ce qui ne change pas le quotient."],
  "explain.note.overflow": [
    "A number on the way is larger than 3.4 × 10³⁸, the largest that these 32-bit numbers hold. It becomes ∞, and ∞ − ∞ is no number (NaN).",
    "Eine Zahl auf dem Weg ist größer als 3,4 × 10³⁸, die größte, die diese 32-Bit-Zahlen fassen. Sie wird ∞, und ∞ − ∞ ist keine Zahl (NaN).",
    "Un nombre en chemin dépasse 3,4 × 10³⁸, le plus grand que contiennent ces nombres de 32 bits. Il devient ∞, et ∞ − ∞ n’est pas un nombre (NaN)."],
  "explain.note.transposed": [
    "The operation’s result is then transposed: rows and columns are swapped.",
    "Das Ergebnis der Operation wird danach transponiert: Zeilen und Spalten werden vertauscht.",
    "Le résultat de l’opération est ensuite transposé : lignes et colonnes sont échangées."],
};
