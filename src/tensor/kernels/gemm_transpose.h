/* Transposes a block of WIDTH x WIDTH elements in registers for gemm.h.
 *
 * log2(WIDTH) rounds swap quarters. The round with distance D takes rows r and r + D and, in each
 * group of 2 D columns, swaps the second half of row r with the first half of row r + D:
 *
 *     r        a b       a c
 *     r + D    c d       b d
 *
 * After all rounds, rows and columns are swapped. */

#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define HAS_SHUFFLE 1
#endif
#endif

#if WIDTH == 16
#define EACH_LANE(X)                                                                               \
    X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11), X(12), X(13), X(14), \
        X(15)
#elif WIDTH == 8
#define EACH_LANE(X) X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7)
#elif WIDTH == 4
#define EACH_LANE(X) X(0), X(1), X(2), X(3)
#else
#define EACH_LANE(X) X(0), X(1)
#endif

/* The source of lane c of the new row r (NEW_FIRST) or r + D (NEW_SECOND), as a lane of the two old
 * rows side by side. */
#define NEW_FIRST(D, c)  ((c) & (D) ? WIDTH + (c) - (D) : (c))
#define NEW_SECOND(D, c) ((c) & (D) ? WIDTH + (c) : (c) + (D))

#define ROUND(D, FIRST, SECOND)                                                                    \
    UNROLL for (int r = 0; r < WIDTH; r++)                                                         \
    {                                                                                              \
        if ((r & (D)) == 0) {                                                                      \
            const vector top = row[r], low = row[r + (D)];                                         \
            row[r] = __builtin_shufflevector(top, low, EACH_LANE(FIRST));                          \
            row[r + (D)] = __builtin_shufflevector(top, low, EACH_LANE(SECOND));                   \
        }                                                                                          \
    }
#define FIRST_1(c)  NEW_FIRST(1, c)
#define SECOND_1(c) NEW_SECOND(1, c)
#define FIRST_2(c)  NEW_FIRST(2, c)
#define SECOND_2(c) NEW_SECOND(2, c)
#define FIRST_4(c)  NEW_FIRST(4, c)
#define SECOND_4(c) NEW_SECOND(4, c)
#define FIRST_8(c)  NEW_FIRST(8, c)
#define SECOND_8(c) NEW_SECOND(8, c)

/* to (WIDTH, WIDTH) = from (rows, WIDTH) transposed, with rows <= WIDTH. Columns of `to` past the
 * first `rows` receive arbitrary elements. Rows start from_row elements apart in `from`, to_row in
 * `to`. */
static void transpose_block(const T *from, int64_t from_row, int64_t rows, T *to, int64_t to_row)
{
#ifdef HAS_SHUFFLE
    vector row[WIDTH];
    UNROLL for (int r = 0; r < WIDTH; r++)
    {
        memcpy(&row[r], from + (r < rows ? r : 0) * from_row, sizeof row[r]);
    }
    ROUND(1, FIRST_1, SECOND_1)
#if WIDTH > 2
    ROUND(2, FIRST_2, SECOND_2)
#endif
#if WIDTH > 4
    ROUND(4, FIRST_4, SECOND_4)
#endif
#if WIDTH > 8
    ROUND(8, FIRST_8, SECOND_8)
#endif
    UNROLL for (int r = 0; r < WIDTH; r++)
    {
        memcpy(to + r * to_row, &row[r], sizeof row[r]);
    }
#else
    for (int r = 0; r < WIDTH; r++) {
        for (int c = 0; c < WIDTH; c++) {
            to[r * to_row + c] = from[(c < rows ? c : 0) * from_row + r];
        }
    }
#endif
}
