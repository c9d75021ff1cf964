/* The block on the diagonal in a round of Floyd-Warshall: one work-group of SIDE by SIDE items.

   A work-item has PER by PER entries in registers. The row and the column of the pivot pass through
   local memory, by turns in two places, so that a pivot takes one barrier.

   Macros: T, INF, ADD for single numbers (`number_macros`), SIDE, PER, TAILS, UNROLL. */

#define BLOCK (SIDE * PER)
#define EACH_ENTRY UNROLL for (uint r = 0; r < PER; r++) UNROLL for (uint c = 0; c < PER; c++)
#define PLACE (at + (ulong)(y * PER + r) * stride + x * PER + c)

/* matrix: rows `stride` apart, changed in place; at: the block's first entry; tails: alike */
kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void close_block(global T *matrix, const ulong at, const uint stride
#if TAILS
                 , global int *tails
#endif
                 )
{
    const uint x = get_local_id(0), y = get_local_id(1);
    local T pivot_row[2][BLOCK], pivot_column[2][BLOCK];
    T own[PER][PER];
    EACH_ENTRY own[r][c] = matrix[PLACE];
#if TAILS
    local int pivot_tails[2][BLOCK];
    int own_tails[PER][PER];
    EACH_ENTRY own_tails[r][c] = tails[PLACE];
#endif
    for (uint owner = 0; owner < SIDE; owner++) {
        UNROLL for (uint p = 0; p < PER; p++) {
            const uint turn = (owner * PER + p) & 1;
            if (y == owner) UNROLL for (uint c = 0; c < PER; c++) {
                pivot_row[turn][x * PER + c] = own[p][c];
#if TAILS
                pivot_tails[turn][x * PER + c] = own_tails[p][c];
#endif
            }
            if (x == owner) UNROLL for (uint r = 0; r < PER; r++)
                pivot_column[turn][y * PER + r] = own[r][p];
            barrier(CLK_LOCAL_MEM_FENCE);
            EACH_ENTRY {
                const T sum = ADD(pivot_column[turn][y * PER + r], pivot_row[turn][x * PER + c]);
                const int less = sum < own[r][c];
                own[r][c] = less ? sum : own[r][c];
#if TAILS
                own_tails[r][c] = less ? pivot_tails[turn][x * PER + c] : own_tails[r][c];
#endif
            }
        }
    }
    EACH_ENTRY matrix[PLACE] = own[r][c];
#if TAILS
    EACH_ENTRY tails[PLACE] = own_tails[r][c];
#endif
}
