// Texts of the explanations. In sentences about operations {0}, {1} and {2} are the names of the inputs, {3} is a
// number; in those about derivatives {0} is the name of the result, {1} and {2} are the inputs' names, {3} and {4} the
// same transposed, {5} the result's gradient.
export const explaining = {
  "explain.more": ["… ({0} more)", "… (noch {0})", "… (encore {0})"],

  // ---- operations ----
  "explain.matmul": [
    "Matrix product {0} @ {1}: multiply a row of {0} by a column of {1}, number by number, and add up the products.",
    "Matrixprodukt {0} @ {1}: Eine Zeile von {0} wird Zahl für Zahl mit einer Spalte von {1} multipliziert, und die Produkte werden addiert.",
    "Produit de matrices {0} @ {1} : on multiplie une ligne de {0} par une colonne de {1}, nombre par nombre, et on additionne les produits."],
  "explain.linear": [
    "Linear layer: multiply a row of {0} by a row of the weights {1}, number by number, and add up the products. Training chooses the weights.",
    "Lineare Schicht: Eine Zeile von {0} wird Zahl für Zahl mit einer Zeile der Gewichte {1} multipliziert, und die Produkte werden addiert. Das Training bestimmt die Gewichte.",
    "Couche linéaire : on multiplie une ligne de {0} par une ligne des poids {1}, nombre par nombre, et on additionne les produits. L’entraînement choisit les poids."],
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
    "The mean of numbers of {0}: add them up and divide by how many they are.",
    "Der Mittelwert von Zahlen aus {0}: addieren und durch die Anzahl teilen.",
    "La moyenne de nombres de {0} : on les additionne et on divise par leur nombre."],
  "explain.softmax.row": [
    "Softmax of a row of {0}: exp makes every number positive, and dividing by their sum turns them into shares that add up to 1. The largest number of the row gets the largest share.",
    "Softmax einer Zeile von {0}: exp macht jede Zahl positiv, und das Teilen durch ihre Summe macht daraus Anteile, die zusammen 1 ergeben. Die größte Zahl der Zeile bekommt den größten Anteil.",
    "Softmax d’une ligne de {0} : exp rend chaque nombre positif, et la division par leur somme en fait des parts dont le total est 1. Le plus grand nombre de la ligne reçoit la plus grande part."],
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
    "{0} turned round: 1 becomes 0, and 0 becomes 1.", "{0} umgekehrt: Aus 1 wird 0, aus 0 wird 1.", "{0} inversé : 1 devient 0, et 0 devient 1."],
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
  "explain.rule": ["Part of the derivative of {0}.", "Teil der Ableitung von {0}.", "Partie de la dérivée de {0}."],
  "explain.rule.matmul": [
    "Part of the derivative of the matrix product {1} @ {2}: the gradient of {1} is {5} @ {4}, and the gradient of {2} is {3} @ {5}.",
    "Teil der Ableitung des Matrixprodukts {1} @ {2}: Der Gradient von {1} ist {5} @ {4}, der von {2} ist {3} @ {5}.",
    "Partie de la dérivée du produit de matrices {1} @ {2} : le gradient de {1} est {5} @ {4}, celui de {2} est {3} @ {5}."],
  "explain.rule.linear": [
    "Part of the derivative of the linear layer that computes {0}: the gradient of {1} is {5} @ {2}, and the gradient of {2} is {5}.T @ {1}.",
    "Teil der Ableitung der linearen Schicht, die {0} berechnet: Der Gradient von {1} ist {5} @ {2}, der von {2} ist {5}.T @ {1}.",
    "Partie de la dérivée de la couche linéaire qui calcule {0} : le gradient de {1} est {5} @ {2}, celui de {2} est {5}.T @ {1}."],
  "explain.rule.softmax": [
    "Part of the derivative of softmax: share × (the result’s gradient − the sum of share × gradient). If one share grows, the others shrink: the subtraction takes this into account.",
    "Teil der Ableitung von Softmax: Anteil × (Gradient des Ergebnisses − Summe von Anteil × Gradient). Wächst ein Anteil, so schrumpfen die anderen: Das berücksichtigt die Subtraktion.",
    "Partie de la dérivée de softmax : part × (gradient du résultat − somme de part × gradient). Si une part augmente, les autres diminuent : la soustraction en tient compte."],
  "explain.rule.masked_fill": [
    "Part of the derivative of the mask: a blocked number has no influence, so its gradient is 0; all others pass through.",
    "Teil der Ableitung der Maske: Eine gesperrte Zahl hat keinen Einfluss, ihr Gradient ist 0; alle anderen gehen durch.",
    "Partie de la dérivée du masque : un nombre bloqué n’a pas d’influence, son gradient est 0 ; tous les autres passent."],
  "explain.rule.div_scalar": [
    "Part of the derivative of {0}: what is divided going forward, has its gradient divided by the same number going backward.",
    "Teil der Ableitung von {0}: Was vorwärts geteilt wird, dessen Gradient wird rückwärts durch dieselbe Zahl geteilt.",
    "Partie de la dérivée de {0} : ce qui est divisé vers l’avant voit son gradient divisé par le même nombre vers l’arrière."],
  "explain.rule.cat": [
    "Part of the derivative of putting matrices side by side: each gets its own part of the gradient back.",
    "Teil der Ableitung des Nebeneinanderstellens: Jede Matrix bekommt ihren Teil des Gradienten zurück.",
    "Partie de la dérivée de la mise côte à côte : chaque matrice récupère sa partie du gradient."],
  "explain.rule.slice": [
    "Part of the derivative of taking a part: outside it, the gradient is 0.",
    "Teil der Ableitung des Ausschneidens: Außerhalb des Ausschnitts ist der Gradient 0.",
    "Partie de la dérivée de la prise d’une partie : en dehors, le gradient est 0."],
  "explain.rule.square": [
    "Part of the derivative of the square: 2 × {1} × {5}.",
    "Teil der Ableitung des Quadrats: 2 × {1} × {5}.",
    "Partie de la dérivée du carré : 2 × {1} × {5}."],
  "explain.rule.sum": [
    "Part of the derivative of a sum: if a term grows by a little, the sum grows by the same, so every term gets the sum’s gradient.",
    "Teil der Ableitung einer Summe: Wächst ein Summand um ein wenig, so wächst die Summe um ebenso viel. Jeder Summand bekommt also den Gradienten der Summe.",
    "Partie de la dérivée d’une somme : si un terme augmente un peu, la somme augmente d’autant ; chaque terme reçoit donc le gradient de la somme."],
  "explain.rule.cross_entropy": [
    "Part of the derivative of the cross-entropy: (softmax share − 1 for the right word, − 0 for the others), divided by how many words are predicted.",
    "Teil der Ableitung der Kreuzentropie: (Softmax-Anteil − 1 beim richtigen Wort, − 0 bei den anderen), geteilt durch die Anzahl der vorhergesagten Wörter.",
    "Partie de la dérivée de l’entropie croisée : (part softmax − 1 pour le bon mot, − 0 pour les autres), divisé par le nombre de mots prédits."],
  "explain.rule.embedding": [
    "Part of the derivative of the look-up: each row of {2} collects the gradients of the places where its word stands.",
    "Teil der Ableitung des Nachschlagens: Jede Zeile von {2} sammelt die Gradienten der Stellen, an denen ihr Wort steht.",
    "Partie de la dérivée de la consultation : chaque ligne de {2} recueille les gradients des places où se trouve son mot."],
  "explain.rule.uses": [
    "A tensor is used in several places. Its gradient is the sum of what all of them contribute.",
    "Ein Tensor wird an mehreren Stellen benutzt. Sein Gradient ist die Summe dessen, was sie alle beitragen.",
    "Un tenseur est utilisé à plusieurs endroits. Son gradient est la somme de toutes leurs contributions."],

  // ---- remarks ----
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
