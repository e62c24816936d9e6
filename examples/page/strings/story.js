// The texts of "The story": key: [English, German, French]. *...* is a word of the sentence, **...** a new term.

export const story = {
  "story.nav.screens": ["Screens of the story", "Seiten der Geschichte", "Écrans de l’histoire"],
  "story.nav.screen": ["Screen {0}: {1}", "Seite {0}: {1}", "Écran {0} : {1}"],
  "story.nav.back": ["Back", "Zurück", "Précédent"],
  "story.nav.next": ["Next", "Weiter", "Suivant"],
  "story.nav.code": ["In code ›", "Im Code ›", "Dans le code ›"],
  "story.loss": ["loss", "Loss", "perte"],
  "story.steps": ["steps", "Schritte", "pas"],
  "story.query": ["query", "Query", "requête"],
  "story.key": ["key", "Key", "clé"],
  "story.value": ["value", "Value", "valeur"],
  "story.reset": ["↺ As learned", "↺ Wie gelernt", "↺ Comme appris"],

  "story.it": ["What is “it”?", "Wofür steht „it“?", "Que désigne « it » ?"],
  "story.it.text": [
    "“The pizza came out of the oven and it tasted good.” You know at once what *it* means. How can a **model**, a program that learned from examples, tell? By **attention**: *it* takes a little from every word, and a lot from the words that matter.",
    "„Die Pizza kam aus dem Ofen und *it* schmeckte gut.“ Du weißt sofort, wofür *it* steht, obwohl es im Englischen auch der Ofen sein könnte. Woher weiß es ein **Modell**, also ein Programm, das aus Beispielen gelernt hat? Durch **Attention** (Aufmerksamkeit): *it* nimmt von jedem Wort ein wenig auf und von den wichtigen viel.",
    "« La pizza est sortie du four et *it* avait bon goût. » Vous savez aussitôt ce que *it* désigne, alors qu’en anglais ce pourrait être le four. Comment un **modèle**, c’est-à-dire un programme qui a appris à partir d’exemples, le sait-il ? Grâce à l’**attention** : *it* puise un peu dans chaque mot, et beaucoup dans ceux qui comptent."],
  "story.it.guess": [
    "Press the word that *it* stands for.",
    "Tippe das Wort an, für das *it* steht.",
    "Appuyez sur le mot que *it* désigne."],
  "story.it.looked": [
    "The thicker an arc, the more *it* takes from that word: {1} comes from *{0}*.",
    "Je dicker ein Bogen, desto mehr nimmt *it* von diesem Wort auf: {1} kommen von *{0}*.",
    "Plus un arc est épais, plus *it* puise dans ce mot : {1} viennent de *{0}*."],
  "story.it.agree": [
    "The model agrees with you. Now change the ending!",
    "Das Modell sieht es auch so. Ändere jetzt das Ende!",
    "Le modèle est de votre avis. Changez maintenant la fin !"],
  "story.it.differ": [
    "The model disagrees. Guess again, or change the ending!",
    "Das Modell sieht es anders. Rate noch einmal oder ändere das Ende!",
    "Le modèle n’est pas de votre avis. Essayez encore, ou changez la fin !"],
  "story.it.moved": [
    "The arc has moved: the ending decides. But *it* is the same word in both sentences. How can it look elsewhere? Next screen!",
    "Der Bogen ist gewandert: Das Ende entscheidet. Aber *it* ist in beiden Sätzen dasselbe Wort. Wie kann es woanders hinsehen? Das zeigt die nächste Seite.",
    "L’arc s’est déplacé : la fin de la phrase décide. Pourtant *it* est le même mot dans les deux phrases. Comment peut-il regarder ailleurs ? Réponse à l’écran suivant !"],
  "story.it.picture": ["The sentence, with arcs from it to each word", "Der Satz, mit Bögen von it zu jedem Wort", "La phrase, avec des arcs de it vers chaque mot"],

  "story.looks": ["Two looks", "Zwei Blicke", "Deux regards"],
  "story.looks.text": [
    "*It* looks around twice; you saw the second look. One look is a **layer**.",
    "*It* sieht sich zweimal um; du hast den zweiten Blick gesehen. Ein Blick ist eine **Schicht** (layer).",
    "*It* regarde deux fois autour de lui ; vous avez vu le second regard. Un regard est une **couche** (layer)."],
  "story.looks.first.text": [
    "*It* looks around twice; you saw the second look. One look is a **layer**. In the first layer it reads the ending: {1} of what it takes comes from *{0}*. From now on, *it* carries the ending with it.",
    "*It* sieht sich zweimal um; du hast den zweiten Blick gesehen. Ein Blick ist eine **Schicht** (layer). In der ersten Schicht liest es das Ende: {1} von dem, was es aufnimmt, kommen von *{0}*. Von nun an trägt *it* das Ende in sich.",
    "*It* regarde deux fois autour de lui ; vous avez vu le second regard. Un regard est une **couche** (layer). Dans la première, il lit la fin de la phrase : {1} de ce qu’il prend viennent de *{0}*. Désormais, *it* porte la fin en lui."],
  "story.looks.second.text": [
    "In the second layer *it* knows what to look for: {1} now comes from *{0}*. That is what layers are for. The model learned from {2} sentences with their answers, none with both *pizza* and *oven*, and nobody told it where to look. (Of 24 models trained like this, 8 answer every new sentence right; this one looks most clearly.)",
    "In der zweiten Schicht weiß *it*, wonach es sucht: Jetzt kommen {1} von *{0}*. Dafür gibt es Schichten. Das Modell hat aus {2} Sätzen mit Lösung gelernt, in keinem standen *pizza* und *oven* zusammen, und niemand hat ihm gesagt, wohin es sehen soll. (Von 24 so trainierten Modellen beantworten 8 jeden neuen Satz richtig; dieses sieht am klarsten hin.)",
    "Dans la deuxième couche, *it* sait quoi chercher : {1} viennent maintenant de *{0}*. Voilà à quoi servent les couches. Le modèle a appris sur {2} phrases avec leur réponse, aucune ne réunissant *pizza* et *oven*, et personne ne lui a dit où regarder. (Sur 24 modèles ainsi entraînés, 8 répondent juste à chaque phrase nouvelle ; celui-ci a le regard le plus net.)"],
  "story.looks.first": ["First layer", "Erste Schicht", "Première couche"],
  "story.looks.second": ["Second layer", "Zweite Schicht", "Deuxième couche"],
  "story.looks.first.do": [
    "Change the ending, then go to the second layer.",
    "Ändere das Ende, dann geh zur zweiten Schicht.",
    "Changez la fin, puis passez à la deuxième couche."],
  "story.looks.second.do": [
    "Change the ending again: now *it* finds the other noun.",
    "Ändere das Ende noch einmal: *It* findet das andere Hauptwort.",
    "Changez encore la fin : *it* trouve l’autre nom."],

  "story.rows": ["A word is a row of numbers", "Ein Wort ist eine Reihe von Zahlen", "Un mot est une ligne de nombres"],
  "story.rows.text": [
    "To the model, a word is a row of 16 numbers. Three learned tables of **weights**, W_q, W_k and W_v, turn it into three arrows: a **query**, what it looks for; a **key**, what it can be found by; a **value**, what it passes on. As in a library: your request, the labels on the shelves, the books.",
    "Für das Modell ist ein Wort eine Reihe von 16 Zahlen. Drei gelernte Tabellen von **Gewichten**, W_q, W_k und W_v, machen daraus drei Pfeile: die **Query** (Anfrage), was es sucht; den **Key** (Schlüssel), woran man es findet; den **Value** (Inhalt), was es weitergibt. Wie in einer Bibliothek: deine Anfrage, die Schilder an den Regalen, die Bücher.",
    "Pour le modèle, un mot est une ligne de 16 nombres. Trois tables de **poids** apprises, W_q, W_k et W_v, en font trois flèches : une **requête** (query), ce qu’il cherche ; une **clé** (key), ce qui permet de le trouver ; une **valeur** (value), ce qu’il transmet. Comme dans une bibliothèque : votre demande, les étiquettes des rayons, les livres."],
  "story.rows.do": [
    "Press a weight and drag the slider: the arrow moves.",
    "Tippe ein Gewicht an und zieh am Regler: Der Pfeil bewegt sich.",
    "Choisissez un poids et bougez le curseur : la flèche bouge aussi."],
  "story.rows.it": ["The 16 numbers of “it” after its first look", "Die 16 Zahlen von „it“ nach dem ersten Blick", "Les 16 nombres de « it » après son premier regard"],
  "story.rows.word": ["The 16 numbers of “{0}”", "Die 16 Zahlen von „{0}“", "Les 16 nombres de « {0} »"],
  "story.rows.across": [
    "{0}, row 1, times the numbers, added up: {1} across",
    "{0}, Zeile 1, mal die Zahlen, addiert: {1} zur Seite",
    "{0}, ligne 1, fois les nombres : en tout {1} en largeur"],
  "story.rows.up": ["{0}, row 2, likewise: {1} up", "{0}, Zeile 2, ebenso: {1} nach oben", "{0}, ligne 2, de même : {1} en hauteur"],
  "story.rows.weight": ["The chosen weight", "Das gewählte Gewicht", "Le poids choisi"],
  "story.rows.cell": ["weight {0} {1}: {2}", "Gewicht {0} {1}: {2}", "poids {0} {1} : {2}"],
  "story.rows.picture": ["The arrow that the table makes of the word", "Der Pfeil, den die Tabelle aus dem Wort macht", "La flèche que la table fait du mot"],

  "story.compare": ["Who answers best?", "Wer antwortet am besten?", "Qui répond le mieux ?"],
  "story.compare.text": [
    "*It* asks with its query, the orange arrow; every word, *it* too, offers its key, a blue one. How far a key reaches along the query, times the query’s length, divided by √2, is the **score** of that word. The higher the score, the larger the word’s share.",
    "*It* fragt mit seiner Query, dem orangefarbenen Pfeil; jedes Wort, auch *it* selbst, bietet seinen Key an, einen blauen Pfeil. Wie weit ein Key in Richtung der Query reicht, mal die Länge der Query, geteilt durch √2: Das ist der **Score** des Wortes. Je höher der Score, desto größer der Anteil.",
    "*It* interroge avec sa requête, la flèche orange ; chaque mot, *it* compris, propose sa clé, une flèche bleue. La portée d’une clé dans le sens de la requête, multipliée par la longueur de la requête et divisée par √2, donne le **score** du mot. Plus le score est haut, plus la part est grande."],
  "story.compare.do": [
    "Make *oven* win: drag the orange arrow well past *oven*, whose key is shorter.",
    "Lass *oven* gewinnen: Zieh den orangefarbenen Pfeil weit über *oven* hinaus, dessen Key kürzer ist.",
    "Faites gagner *oven* : tirez la flèche orange bien au-delà de *oven*, dont la clé est plus courte."],
  "story.compare.grip": ["The query of it", "Die Query von it", "La requête de it"],
  "story.compare.score": ["score", "Score", "score"],
  "story.compare.share": ["share", "Anteil", "part"],
  "story.compare.picture": ["The query of it and the key of each word, as arrows", "Die Query von it und der Key jedes Wortes als Pfeile", "La requête de it et la clé de chaque mot, en flèches"],
  "story.compare.formula": [
    "score = reach × length of the query ÷ √2",
    "Score = Reichweite × Länge der Query ÷ √2",
    "score = portée × longueur de la requête ÷ √2"],
  "story.compare.why": [
    "(why √2: next screen, “{0}”)",
    "(warum √2: nächste Seite, „{0}“)",
    "(pourquoi √2 : écran suivant, « {0} »)"],
  "story.compare.said": ["Shares: {0}", "Anteile: {0}", "Parts : {0}"],
  "story.compare.now": ["*{0}* now gets most: {1}.", "Am meisten bekommt jetzt *{0}*: {1}.", "*{0}* reçoit maintenant le plus : {1}."],
  "story.compare.even": ["No word stands out: *{0}* gets most, {1}.", "Kein Wort ragt heraus: Am meisten bekommt *{0}*, {1}.", "Aucun mot ne domine : *{0}* reçoit le plus, {1}."],
  "story.compare.colours": [
    "dashed: its line; green: reach; red: backwards",
    "gestrichelt: Linie; grün: Reichweite; rot: rückwärts",
    "tirets : sa ligne ; vert : portée ; rouge : à l’envers"],

  "story.weigh": ["From scores to shares", "Von Scores zu Anteilen", "Des scores aux parts"],
  "story.weigh.text": [
    "Scores can be any numbers; shares add up to 100%. **Softmax** turns scores into shares: a word one point ahead of another gets about 2.7 times its share (the number e), two points ahead 2.7 × 2.7 times. A clear leader takes nearly all.",
    "Scores können beliebige Zahlen sein; Anteile ergeben zusammen 100 %. **Softmax** macht aus Scores Anteile: Liegt ein Wort um 1 vor einem anderen, bekommt es etwa das 2,7-Fache (die Zahl e), liegt es um 2 vorn, das 2,7 × 2,7-Fache. Wer klar führt, bekommt fast alles.",
    "Un score peut être n’importe quel nombre ; les parts font 100 % en tout. La **softmax** change les scores en parts : un point d’avance sur un autre mot donne environ 2,7 fois sa part (le nombre e), deux points 2,7 × 2,7 fois. Qui mène nettement prend presque tout."],
  "story.weigh.ahead": [
    "Drag the scores. *{0}* leads *{2}* by {1} points: {3} times its share.",
    "Zieh an den Scores. *{0}* liegt um {1} vor *{2}*: {3}-mal so viel.",
    "Tirez les scores. *{0}* devance *{2}* de {1} points : {3} fois sa part."],
  "story.weigh.grip": ["Score of {0}", "Score von {0}", "Score de {0}"],
  "story.weigh.sharper": ["Sharper: scores × 2", "Schärfer: Scores × 2", "Plus net : scores × 2"],
  "story.weigh.flatter": ["Flatter: scores ÷ 2", "Flacher: Scores ÷ 2", "Plus plat : scores ÷ 2"],
  "story.weigh.why": ["Arrows with more numbers", "Pfeile mit mehr Zahlen", "Des flèches à plus de nombres"],
  "story.weigh.again": ["Back to the scores", "Zurück zu den Scores", "Retour aux scores"],
  "story.weigh.root": [
    "Our arrows have two numbers, across and up; those of real models have **d**, say 64. The more numbers, the further apart the scores, even of random arrows: one word would get nearly all before anything is learned. So scores are divided by √d, the square root of d.",
    "Unsere Pfeile haben zwei Zahlen, zur Seite und nach oben; die echter Modelle haben **d**, etwa 64. Je mehr Zahlen, desto weiter liegen die Scores auseinander, selbst bei zufälligen Pfeilen: Ein Wort bekäme fast alles, bevor etwas gelernt ist. Darum teilt man die Scores durch √d, die Wurzel aus d.",
    "Nos flèches ont deux nombres, largeur et hauteur ; celles des vrais modèles en ont **d**, disons 64. Plus il y en a, plus les scores s’écartent, même pour des flèches au hasard : un mot prendrait presque tout avant le moindre apprentissage. On divise donc les scores par √d, la racine carrée de d."],
  "story.weigh.root.do": [
    "Drag d. At {0}, the largest of six shares is {1} on average; divided by √d, {2}.",
    "Zieh an d. Bei {0} ist der größte von sechs Anteilen im Mittel {1}, durch √d geteilt {2}.",
    "Réglez d. À {0}, la plus grande de six parts est en moyenne de {1} ; avec √d, de {2}."],
  "story.weigh.raw": ["not divided: spread {0}", "nicht geteilt: Streuung {0}", "sans diviser : écart {0}"],
  "story.weigh.scaled": ["divided by √d: spread {0}", "durch √d geteilt: Streuung {0}", "divisés par √d : écart {0}"],
  "story.weigh.axis": ["a line: a score →", "ein Strich: ein Score →", "un trait : un score →"],
  "story.weigh.others": ["{0} others", "{0} andere", "{0} autres"],
  "story.weigh.six": [
    "shares of six random words, mean of 1000 draws",
    "Anteile von sechs zufälligen Wörtern, im Mittel",
    "parts de six mots au hasard, moyenne sur 1000"],
  "story.weigh.picture": ["Scores, and the shares that softmax makes of them", "Scores und die Anteile, die Softmax daraus macht", "Les scores, et les parts que softmax en fait"],
  "story.weigh.histogram": ["Scores of random arrows, divided by the root of d and not", "Scores zufälliger Pfeile, durch die Wurzel aus d geteilt und nicht", "Les scores de flèches au hasard, divisés par la racine de d ou non"],
  "story.weigh.said": [
    "{0} numbers: the scores spread by {1}, divided by √d by {2}; of six words, the largest share is on average {3}, divided {4}.",
    "{0} Zahlen: Die Scores streuen um {1}, durch √d geteilt um {2}; der größte von sechs Anteilen ist im Mittel {3}, geteilt {4}.",
    "{0} nombres : les scores s’étalent de {1}, divisés par √d de {2} ; la plus grande de six parts est en moyenne de {3}, divisés de {4}."],

  "story.mix": ["A mixture", "Eine Mischung", "Un mélange"],
  "story.mix.text": [
    "Each word passes on its value: the tip of that arrow, a point on this map. *It* moves to the **mixture** of all points, their average in which each counts by its share; the noun nearest to it is the answer. Here only *it* asks; in ChatGPT all words do, at once.",
    "Jedes Wort gibt seinen Value weiter: die Spitze dieses Pfeils, einen Punkt auf dieser Karte. *It* rückt in die **Mischung** aller Punkte, das Mittel, in dem jeder nach seinem Anteil zählt; das Hauptwort, das ihm am nächsten liegt, ist die Antwort. Hier fragt nur *it*, in ChatGPT fragen alle Wörter zugleich.",
    "Chaque mot transmet sa valeur : la pointe de cette flèche, un point sur cette carte. *It* va au **mélange** de tous les points, la moyenne où chacun compte selon sa part ; le nom le plus proche de lui est la réponse. Ici, seul *it* interroge ; dans ChatGPT, tous les mots le font à la fois."],
  "story.mix.now": [
    "Drag *it* along the line; the shares follow. Nearest (ring): *{0}*.",
    "Zieh *it* auf der Linie; die Anteile folgen. Am nächsten (Ring): *{0}*.",
    "Déplacez *it* sur la ligne ; les parts suivent. Le plus proche (cercle) : *{0}*."],
  "story.mix.between": [
    "Drag *it* along the line. Nearest (ring): *{0}*, not in this sentence.",
    "Zieh *it* auf der Linie. Am nächsten (Ring): *{0}*, nicht im Satz.",
    "Déplacez *it* sur la ligne. Le plus proche (cercle) : *{0}*, absent de la phrase."],
  "story.mix.grip": ["The new point of it, between pizza and oven", "Der neue Punkt von it, zwischen pizza und oven", "Le nouveau point de it, entre pizza et oven"],
  "story.mix.picture": ["The values of the words as points, and their mixture", "Die Values der Wörter als Punkte und ihre Mischung", "Les valeurs des mots en points, et leur mélange"],
  "story.mix.said": ["Pizza {0}, oven {1}. Nearest: {2}.", "Pizza {0}, oven {1}. Am nächsten: {2}.", "Pizza {0}, oven {1}. Le plus proche : {2}."],
  "story.mix.new": ["it, mixed", "it, gemischt", "it, mélangé"],

  "story.positions": ["The order of words", "Die Reihenfolge der Wörter", "L’ordre des mots"],
  "story.positions.order": ["Order", "Reihenfolge", "Ordre"],
  "story.positions.text": [
    "So far, a sentence was a heap of words: shuffle it, and every word keeps its share. But “the dog chased the cat” is not “the cat chased the dog”. So the models of the next screens get **positions**: numbers, added to the word’s own, that say where it stands.",
    "Bisher war ein Satz ein Haufen Wörter: Misch ihn, und jedes Wort behält seinen Anteil. Doch „Hund jagt Katze“ ist nicht „Katze jagt Hund“. Die Modelle der nächsten Seiten bekommen darum **Positionen**: Zahlen, die zu denen des Wortes addiert werden und sagen, wo es steht.",
    "Jusqu’ici, une phrase était un tas de mots : mélangez-les, chacun garde sa part. Or « le chien poursuit le chat » n’est pas « le chat poursuit le chien ». Les modèles des écrans suivants reçoivent donc des **positions** : des nombres, ajoutés à ceux du mot, qui disent où il se trouve."],
  "story.positions.shuffle": ["Shuffle", "Mischen", "Mélanger"],
  "story.positions.sort": ["In order", "Ordnen", "Ranger"],
  "story.positions.right": ["*Pizza* gets {0}. Shuffle!", "*Pizza* bekommt {0}. Misch die Wörter!", "*Pizza* reçoit {0}. Mélangez !"],
  "story.positions.mixed": [
    "Shuffled, and *pizza* still gets {0}: this model does not see the order. How a position is written: press Clocks.",
    "Gemischt, und *pizza* bekommt immer noch {0}: Dieses Modell sieht die Reihenfolge nicht. Wie man eine Position schreibt: Drück auf Uhren.",
    "Mélangé, *pizza* reçoit toujours {0} : ce modèle ne voit pas l’ordre. Comment s’écrit une position : appuyez sur Horloges."],
  "story.positions.clocks": ["Clocks", "Uhren", "Horloges"],
  "story.positions.clocks.text": [
    "A position is written as eight clock hands, fast and slow, like seconds, minutes and hours. Each hand gives two numbers: how far its tip is to the right, and how far up. So no two positions are the same, yet neighbours are similar.",
    "Eine Position wird mit acht Uhrzeigern geschrieben, schnellen und langsamen, wie Sekunden, Minuten, Stunden. Jeder gibt zwei Zahlen: wie weit rechts seine Spitze ist und wie weit oben. So ist keine Position wie die andere, doch Nachbarn ähneln sich.",
    "Une position s’écrit avec huit aiguilles d’horloge, rapides et lentes, comme les secondes, les minutes et les heures. Chacune donne deux nombres : où est sa pointe, vers la droite et vers le haut. Aucune position n’en répète une autre, mais les voisines se ressemblent."],
  "story.positions.clocks.now": ["Drag the slider. This is position {0}.", "Zieh am Regler. Das ist Position {0}.", "Bougez le curseur. Voici la position {0}."],
  "story.positions.clocks.picture": ["A position as eight clock hands", "Eine Position als acht Uhrzeiger", "Une position en huit aiguilles d’horloge"],
  "story.positions.turn": ["↻ every {0} positions", "↻ alle {0} Positionen", "↻ en {0} positions"],
  "story.positions.at": ["position {0}", "Position {0}", "position {0}"],
  "story.positions.grip": ["Position", "Position", "Position"],

  "story.back": ["No peeking", "Nicht spicken", "Interdit de tricher"],
  "story.back.text": [
    "Here is a second model. It writes: after each word it guesses the next one. While it learns, the whole sentence lies open, so a curtain hides what follows: the **mask**. (Its sentences are simpler: *it* is always the first noun.)",
    "Hier ist ein zweites Modell. Es schreibt: Nach jedem Wort rät es das nächste. Beim Lernen liegt der ganze Satz offen da; darum verdeckt ein Vorhang, was folgt: die **Maske**. (Seine Sätze sind einfacher: *it* ist immer das erste Hauptwort.)",
    "Voici un deuxième modèle. Il écrit : après chaque mot, il devine le suivant. Pendant qu’il apprend, toute la phrase est sous ses yeux ; un rideau en cache donc la suite : le **masque**. (Ses phrases sont plus simples : *it* est toujours le premier nom.)"],
  "story.back.learning": [
    "It is learning twice, with the curtain and without. The curves show its error, the **loss**: the less it expected the right words, the higher.",
    "Es lernt gerade zweimal, mit und ohne Vorhang. Die Kurven zeigen seinen Fehler, den **Loss**: je weniger es die richtigen Wörter erwartet hat, desto höher.",
    "Il apprend deux fois, avec et sans rideau. Les courbes montrent son erreur, la **perte** (loss) : moins il attendait les bons mots, plus elle est haute."],
  "story.back.closed": ["With the curtain", "Mit Vorhang", "Avec rideau"],
  "story.back.open": ["No curtain", "Ohne Vorhang", "Sans rideau"],
  "story.back.closed.short": ["curtain", "mit", "avec"],
  "story.back.open.short": ["no curtain", "ohne", "sans"],
  "story.back.closed.loss": [
    "Its error, the **loss**, is {0}: some words nobody can guess. Slide the curtain, then remove it!",
    "Sein Fehler, der **Loss**, ist {0}: Manches Wort kann niemand erraten. Verschieb den Vorhang, dann weg damit!",
    "Son erreur, la **perte**, est de {0} : certains mots, nul ne peut les deviner. Bougez le rideau, puis ôtez-le !"],
  "story.back.open.loss": [
    "Loss {0}, but it cheats: *{1}* takes {3} from *{2}*, the very word to guess. When it writes, that word is not there yet.",
    "Loss {0}, aber es spickt: *{1}* nimmt {3} von *{2}*, dem Wort, das es raten soll. Beim Schreiben steht das noch nicht da.",
    "Perte {0}, mais il copie : *{1}* prend {3} à *{2}*, le mot à deviner. Quand il écrit, ce mot n’est pas encore là."],
  "story.back.grip": ["The edge of the curtain", "Der Rand des Vorhangs", "Le bord du rideau"],
  "story.back.guess": ["guess: {0}", "geraten: {0}", "deviné : {0}"],
  "story.back.picture": ["The sentence, with arcs from it, and the curtain", "Der Satz mit Bögen von it und dem Vorhang", "La phrase avec les arcs de it, et le rideau"],
  "story.back.chart": ["The loss of both models while they learn", "Der Loss beider Modelle beim Lernen", "La perte des deux modèles pendant l’apprentissage"],
  "story.back.said": ["Loss with the curtain {0}, without it {1}.", "Loss mit Vorhang {0}, ohne ihn {1}.", "Perte avec le rideau {0}, sans lui {1}."],

  "story.heads": ["Two questions at once", "Zwei Fragen zugleich", "Deux questions à la fois"],
  "story.heads.text": [
    "A third model must say who chased whom; it never saw these pairs while it learned. The full stop asks, as it comes last. One **head**, a query with its keys and values, blends both animals into one mixture. Two heads can take one animal each; learned numbers (W_o) join the results.",
    "Ein drittes Modell soll sagen, wer wen jagt; diese Paare kamen beim Lernen nie vor. Der Punkt fragt, denn er steht am Ende. Ein **Kopf** (head), also eine Query mit ihren Keys und Values, vermengt beide Tiere zu einer Mischung. Zwei Köpfe können je ein Tier nehmen; gelernte Zahlen (W_o) fügen die Ergebnisse zusammen.",
    "Un troisième modèle doit dire qui poursuit qui, pour des paires jamais vues en apprenant. C’est le point final qui interroge. Une **tête** (head), soit une requête, ses clés et ses valeurs, confond les deux animaux en un mélange. Deux têtes peuvent en prendre un chacune ; des nombres appris (W_o) réunissent les résultats."],
  "story.heads.measured": [
    "{0} models with one head named both animals in {1} of the new sentences, {0} with two heads in {2}.",
    "{0} Modelle mit einem Kopf nannten in {1} der neuen Sätze beide Tiere richtig, {0} mit zwei Köpfen in {2}.",
    "{0} modèles à une tête nomment les deux animaux dans {1} des phrases nouvelles ; {0} à deux têtes, dans {2}."],
  "story.heads.1": ["One head", "Ein Kopf", "Une tête"],
  "story.heads.2": ["Two heads", "Zwei Köpfe", "Deux têtes"],
  "story.heads.another": ["Other animals", "Andere Tiere", "Autres animaux"],
  "story.heads.who": ["Who?", "Wer?", "Qui poursuit ?"],
  "story.heads.whom": ["Whom?", "Wen?", "Qui est poursuivi ?"],
  "story.heads.picture": ["The sentence, with arcs from its stop, for each head", "Der Satz mit Bögen vom Punkt aus, für jeden Kopf", "La phrase avec les arcs du point final, pour chaque tête"],
  "story.heads.dots": ["In how many new sentences each model names both animals", "In wie vielen neuen Sätzen jedes Modell beide Tiere nennt", "Dans combien de phrases nouvelles chaque modèle nomme les deux animaux"],
  "story.heads.axis": ["a dot: a model, % right →", "ein Punkt: ein Modell, % richtig →", "1 point : 1 modèle, % →"],
  "story.heads.said": ["The model says: {0} chased {1}.", "Das Modell sagt: {0} jagt {1}.", "Le modèle dit : {0} poursuit {1}."],
  "story.heads.sure": ["{0} sure", "{0} sicher", "sûr à {0}"],
  "story.heads.luck": ["Right this time.", "Diesmal richtig.", "Juste, cette fois."],

  "story.learn": ["How it learns", "Wie es lernt", "Comment il apprend"],
  "story.learn.text": [
    "Back to the model that writes. It begins with random weights. In each step it guesses in 32 sentences and is shown the right words; then every weight shifts a little, so that the loss falls.",
    "Zurück zum Modell, das schreibt. Es beginnt mit zufälligen Gewichten. In jedem Schritt rät es in 32 Sätzen und sieht die richtigen Wörter; dann rückt jedes Gewicht ein wenig, sodass der Loss sinkt.",
    "Revenons au modèle qui écrit. Il part de poids aléatoires. À chaque pas, il devine dans 32 phrases et voit les bons mots ; puis chaque poids bouge un peu pour que la perte baisse."],
  "story.learn.play": ["▶ Play", "▶ Start", "▶ Lancer"],
  "story.learn.stop": ["❚❚ Pause", "❚❚ Pause", "❚❚ Pause"],
  "story.learn.again": ["↺ Again", "↺ Noch einmal", "↺ Recommencer"],
  "story.learn.at": ["step {0}, loss {1}", "Schritt {0}, Loss {1}", "pas {0}, perte {1}"],
  "story.learn.begin": ["step 0", "Schritt 0", "pas 0"],
  "story.learn.step": ["Step of the training", "Schritt des Trainings", "Pas de l’entraînement"],
  "story.learn.weight": ["One weight", "Ein Gewicht", "Un poids"],
  "story.learn.number": [
    "One weight is {0}. Its **gradient**, {1}, is the slope of this hill, for this sentence, on which it never trains: how steeply the loss rises as the weight grows (negative: falls). Drag the ball downhill!",
    "Ein Gewicht ist {0}. Sein **Gradient**, {1}, ist die Steigung dieses Hügels, für diesen Satz, mit dem es nie trainiert: wie steil der Loss steigt, wenn das Gewicht wächst (negativ: fällt). Zieh den Ball bergab!",
    "Un poids vaut {0}. Son **gradient**, {1}, est la pente de cette colline, pour cette phrase, qu’il ne voit jamais : de combien la perte monte quand le poids grandit (négatif : baisse). Tirez la bille vers le bas !"],
  "story.learn.grip": ["The weight", "Das Gewicht", "Le poids"],
  "story.learn.right": [
    "Downhill: loss on this sentence {0} → {1}.",
    "Bergab: Loss bei diesem Satz {0} → {1}.",
    "Ça descend : perte {0} → {1}."],
  "story.learn.wrong": [
    "Uphill: loss on this sentence {0} → {1}.",
    "Bergauf: Loss bei diesem Satz {0} → {1}.",
    "Ça monte : perte {0} → {1}."],
  "story.learn.slope": [
    "The loss for values of this weight",
    "Der Loss für Werte dieses Gewichts",
    "La perte selon la valeur de ce poids"],
  "story.learn.picture": [
    "The sentence, with arcs from it at this step",
    "Der Satz mit Bögen von it bei diesem Schritt",
    "La phrase avec les arcs de it à ce pas"],
  "story.learn.chart": ["The loss at each step", "Der Loss bei jedem Schritt", "La perte à chaque pas"],
  "story.learn.do": ["Press Play.", "Drück auf Start.", "Appuyez sur Lancer."],
  "story.learn.playing": ["Watch the arcs.", "Achte auf die Bögen.", "Regardez les arcs."],
  "story.learn.paused": ["Press Play again.", "Weiter mit Start.", "Continuez avec Lancer."],
  "story.learn.done": ["Learned. Drag the slider back.", "Gelernt. Zieh den Regler zurück.", "Appris. Ramenez le curseur en arrière."],

  "story.end": ["Now you can read it", "Jetzt kannst du es lesen", "Vous savez le lire"],
  "story.end.text": [
    "This is all of attention, in one line. A large model repeats it in many heads and dozens of layers; one that writes also hides the later words behind a mask.",
    "Das ist die ganze Attention, in einer Zeile. Ein großes Modell wiederholt sie in vielen Köpfen und Dutzenden von Schichten; wenn es schreibt, verdeckt es außerdem die späteren Wörter mit einer Maske.",
    "Voilà toute l’attention, en une ligne. Un grand modèle la répète dans de nombreuses têtes et des dizaines de couches ; s’il écrit, un masque cache en plus les mots suivants."],
  "story.end.query": ["1 query", "1 Query", "1 requête"],
  "story.end.scores": ["2 scores", "2 Scores", "2 scores"],
  "story.end.shares": ["3 shares", "3 Anteile", "3 parts"],
  "story.end.mixture": ["4 mixture", "4 Mischung", "4 mélange"],
  "story.end.play": ["▶ From the beginning", "▶ Von vorn", "▶ Depuis le début"],
  "story.end.query.is": [
    "q: *it*, which has read the ending, asks: {0} across, {1} up.",
    "q: *it*, das das Ende schon gelesen hat, fragt: {0} zur Seite, {1} nach oben.",
    "q : *it*, qui a lu la fin, interroge : {0} en largeur, {1} en hauteur."],
  "story.end.scores.is": [
    "q kᵀ / √d: the query meets the key of every word and gives it a score. (ᵀ turns the keys on their side; d is 2 here.)",
    "q kᵀ / √d: Die Query trifft den Key jedes Wortes und gibt ihm einen Score. (ᵀ legt die Keys auf die Seite; d ist hier 2.)",
    "q kᵀ / √d : la requête rencontre la clé de chaque mot et lui donne un score. (ᵀ couche les clés sur le côté ; d vaut 2 ici.)"],
  "story.end.shares.is": [
    "softmax: scores become shares of 100%; *pizza* gets {2}.",
    "softmax: Aus Scores werden Anteile von 100 %; *pizza* bekommt {2}.",
    "softmax : les scores deviennent des parts de 100 % ; *pizza* reçoit {2}."],
  "story.end.mixture.is": [
    "… v: the values, mixed by these shares. *It* now stands for *{3}*.",
    "… v: die Values, nach diesen Anteilen gemischt. *It* steht jetzt für *{3}*.",
    "… v : les valeurs, mélangées selon ces parts. *It* désigne maintenant *{3}*."],
  "story.end.code": ["Read the code", "Lies den Code", "Lire le code"],
  "story.end.code.is": ["the same steps, line by line", "dieselben Schritte, Zeile für Zeile", "les mêmes étapes, ligne par ligne"],
  "story.end.training": ["Train it", "Trainiere es", "Entraînez-le"],
  "story.end.training.is": ["2,000 steps, as often as you like", "2000 Schritte, so oft du willst", "2000 pas, autant de fois que vous voulez"],
  "story.end.gpt": ["Open a GPT", "Öffne ein GPT", "Ouvrez un GPT"],
  "story.end.gpt.is": ["a small one of ChatGPT’s kind", "ein kleines von ChatGPTs Art", "un petit, de la famille de ChatGPT"],
};
