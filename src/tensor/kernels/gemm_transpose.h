/* A block of a matrix, transposed in registers (internal to gemm.c and kernels.c).
 *
 * Of rows 0 ... LANES - 1, log2(LANES) rounds swap quarters: a round of distance D takes rows r and r + D,
 * and of each group of 2 D columns it exchanges the second half of the one with the first half of the other:
 *
 *     r        a b       a c
 *     r + D    c d       b d
 *
 * After all distances each element is where its row and its column have changed places. */
#ifdef T_IS_F32
#define T_BYTES 4
#else
#define T_BYTES 8
#endif
#define LANES_OF_T (VECTOR_BYTES / T_BYTES)

typedef T row_of_block __attribute__((vector_size(VECTOR_BYTES)));

#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define HAS_SHUFFLE 1
#endif
#endif

#if LANES_OF_T == 16
#define EACH_LANE(X)                                                                               \
    X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11), X(12), X(13), X(14), \
        X(15)
#elif LANES_OF_T == 8
#define EACH_LANE(X) X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7)
#elif LANES_OF_T == 4
#define EACH_LANE(X) X(0), X(1), X(2), X(3)
#else
#define EACH_LANE(X) X(0), X(1)
#endif

/* Which lane of the two rows side by side, r and r + D, lane c of the new ones is. */
#define NEW_FIRST(D, c)  ((c) & (D) ? LANES_OF_T + (c) - (D) : (c))
#define NEW_SECOND(D, c) ((c) & (D) ? LANES_OF_T + (c) : (c) + (D))

#define ROUND(D, FIRST, SECOND)                                                                    \
    UNROLL for (int r = 0; r < LANES_OF_T; r++)                                                    \
    {                                                                                              \
        if ((r & (D)) == 0) {                                                                      \
            const row_of_block one = row[r], other = row[r + (D)];                                 \
            row[r] = __builtin_shufflevector(one, other, EACH_LANE(FIRST));                        \
            row[r + (D)] = __builtin_shufflevector(one, other, EACH_LANE(SECOND));                 \
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

/* to (columns, LANES) = from (rows, columns), transposed, where at most LANES rows and exactly LANES columns
 * are there; what stands for rows that are not is any. The rows of each are `from_row` and `to_row` apart. */
static void transpose_block(const T *from, int64_t from_row, int64_t rows, T *to, int64_t to_row)
{
#ifdef HAS_SHUFFLE
    row_of_block row[LANES_OF_T];
    UNROLL for (int r = 0; r < LANES_OF_T; r++)
    {
        memcpy(&row[r], from + (r < rows ? r : 0) * from_row, sizeof row[r]);
    }
    ROUND(1, FIRST_1, SECOND_1)
#if LANES_OF_T > 2
    ROUND(2, FIRST_2, SECOND_2)
#endif
#if LANES_OF_T > 4
    ROUND(4, FIRST_4, SECOND_4)
#endif
#if LANES_OF_T > 8
    ROUND(8, FIRST_8, SECOND_8)
#endif
    UNROLL for (int r = 0; r < LANES_OF_T; r++)
    {
        memcpy(to + r * to_row, &row[r], sizeof row[r]);
    }
#else
    for (int r = 0; r < LANES_OF_T; r++) {
        for (int c = 0; c < LANES_OF_T; c++) {
            to[r * to_row + c] = from[(c < rows ? c : 0) * from_row + r];
        }
    }
#endif
}
