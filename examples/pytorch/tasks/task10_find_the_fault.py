"""Task 10: find the fault.        python grade.py 10        python grade.py 10 --hint 1

Five small classes, each with one fault. They run, their shapes are right, and all of them train:
so look at what they do. In each class is its symptom, as a program printed it: a map of its
attention, curves of its loss, or a report of attention_check. Which line causes it? Change that
line; one is enough for each class, and the others are right.

The grader checks each class with other inputs, and its gradients, and says how many of the five
are right. `python grade.py 10 --symptoms` prints the five symptoms of your classes as they are now.

Read first: docs/attention.md; docs/questions.md.
"""
import torch
from torch import nn


class Attention(nn.Module):
    """The layers that the five classes share. Everything in here is right. All: x (B, T, d) -> (B, T, d)."""

    def __init__(self, d_model, heads=1):
        super().__init__()
        self.heads = heads  # of MultiHead
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)


class OneHead(Attention):
    """1. One head without a mask. Its map of "the pizza is good", before training: how much each
    word (row) looks at each word (column).

                     p
                     i       g
                 t   z       o
                 h   z   i   o
                 e   a   s   d
          the   14  12: 27= 43
        pizza : 25  11: 27  12
           is : 31  11: 26  12
         good : 29# 67: 21: 33
    """

    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = q @ k.transpose(1, 2) / k.size(2) ** 0.5
        weights = torch.softmax(scores, 1)
        return self.W_o(weights @ v), weights  # for the map


class NextWord(Attention):
    """2. A head of a model that predicts the next symbol. It is trained on random symbols, of which
    there are 16: knowing all symbols before does not help, so no model can get below ln 16 = 2.77.

        mean loss of 30 steps each

          to step   a right class   NextWord
               30           2.848   2.447
               60           2.802   0.855
               90           2.790   0.563
              120           2.794   0.505
              150           2.790   0.475
              180           2.790   0.447
              210           2.786   0.450
              240           2.782   0.449
    """

    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = q @ k.transpose(1, 2) / k.size(2) ** 0.5
        ones = torch.ones(x.size(1), x.size(1), dtype=torch.bool)
        scores = scores.masked_fill(ones.triu(2), -torch.inf)  # true blocks
        return self.W_o(torch.softmax(scores, 2) @ v)


class MultiHead(Attention):
    """3. Two heads with a causal mask. `split` is right. The report of attention_check:

        attention check

          repeat     ok     the same input gives the same output
          batch      ok     another sequence of the batch changes nothing
          reach      WRONG  row 0 sees token 1, which is blocked (10 such pairs, all of them
                            later tokens)
          values     WRONG  replacing tokens: row 0 sees token 1, which is blocked (10 such
                            pairs, all of them later tokens)
          order      -      needs two tokens and no mask, or three and positions
          equal      WRONG  equal tokens do not give what one of them gives (off by 0.8): see
                            reach; or the weights of a row do not sum to 1 (softmax over another
                            dim, a mask after it, none, a factor of T, or positions in v), or y
                            is more than attention (a residual, a gate: set block)
          length     WRONG  the first rows of T = 1 differ from those of T = 8: outputs depend
                            on the length (a scale, a mask aligned to the end, positions counted
                            from the end)
          padding    -      no padded=
          parameters -      no module=
          cache      -      no step=
          formula    -      no module=

          effect of token (column) on output (row):

              0 1 2 3 4 5 6 7
           0  * ! . . . . . .
           1  * * ! ! . . . .
           2  + + + ! ! ! . .
           3  + + + * ! ! ! !
           4  # * x x x . . .
           5  * * # * x x . .
           6  + + * + * + x .
           7  + + + + + + * +

          as expected: . no effect, - to # an effect
          wrong:       ! an effect that should not be
          wrong:       x no effect where one should be

        WRONG: 2 checks passed, 4 failed
    """

    def split(self, x):
        """(B, T, d) -> (B, heads, T, d_head)"""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))
        scores = q @ k.transpose(2, 3) / k.size(3) ** 0.5
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
        y = torch.softmax(scores, 3) @ v
        y = y.reshape(x.shape)
        return self.W_o(y)


class Padded(Attention):
    """4. A head for sentences of different lengths. is_word (B, T) is true for words and false for
    padding, which no word should look at. (What the rows of padding look at does not matter: nobody
    reads them.) Its map of "the pizza is good", padded to 6 tokens, before training:

                     p           <   <
                     i       g   p   p
                 t   z       o   a   a
                 h   z   i   o   d   d
                 e   a   s   d   >   >
          the    .   .   .   .= 35* 65
        pizza    .   .   .   .= 46* 54
           is    .   .   .   .* 56= 44
         good    .   .   .   .@ 95   5
        <pad>    .   .   .   .* 59= 41
        <pad>    .   .   .   .# 72: 28
    """

    def forward(self, x, is_word):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = q @ k.transpose(1, 2) / k.size(2) ** 0.5
        mask = is_word[:, None]  # (B, 1, T): the same keys for all queries
        weights = torch.softmax(scores.masked_fill(mask, -torch.inf), 2)
        return self.W_o(weights @ v), weights


class PreviousWord(Attention):
    """5. A head that learns to say the symbol before each symbol, with a causal mask. It knows the
    positions, so it only has to look one symbol back. The loss of this class and of a right one:

        mean loss of 30 steps each

          to step   a right class   PreviousWord
               30           2.425   2.589
               60           0.976   2.052
               90           0.285   1.801
              120           0.154   1.775
              150           0.118   1.675
              180           0.154   1.668
              210           0.086   1.651
              240           0.049   1.633
    """

    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = q @ k.transpose(1, 2) / k.size(2) ** 0.5
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
        weights = torch.softmax(scores, 2).detach()  # the map needs no graph
        return self.W_o(weights @ v), weights
