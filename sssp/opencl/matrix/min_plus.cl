/* The min-plus product, out = min(old, A (+) B): a work-group makes a tile of `out`.

   Matrices are padded to whole tiles with INF, so that there are no edges. A work-item has ROWS by
   VECTORS vectors of VEC entries in registers, which meet `old` at the very end. On a GPU slices of
   A, transposed, and of B pass through local memory, DEPTH deep; on a CPU DEPTH is 0, and a group is
   one item. Minima are comparisons and selections, which every compiler knows: the built-in min of
   integer vectors is slow in some, and only fmin of 32-bit floats is one instruction on GPUs (FMIN).

   Of equal sums the first counts, and the old entry before all.

   Macros: T, TV, I, IV, VEC, INF, ADD (`number_macros`); HEIGHT, WIDTH, ROWS, VECTORS, DEPTH
   (`ProductTile`); BLOCK; TAILS: whether tails are carried along. */

#define TILE_ROWS (HEIGHT * ROWS)
#define TILE_COLUMNS (WIDTH * VECTORS * VEC)
#define ITEMS (HEIGHT * WIDTH)
#define COLUMN(c) (((c) * WIDTH + x) * VEC)
#define READ(space, pointer) (*(space const TV *)(pointer))
#define UNROLL _Pragma("unroll")
#define EACH_ENTRY UNROLL for (uint r = 0; r < ROWS; r++) UNROLL for (uint c = 0; c < VECTORS; c++)

#if DEPTH
#define AXIS 1
#else
#define AXIS axis
#endif

#if TAILS
#define RELAX(start, end, k) { \
    const TV sum = ADD(start, end); const IV less = sum < least[r][c]; \
    least[r][c] = less ? sum : least[r][c]; through[r][c] = less ? (IV)(k) : through[r][c]; }
#elif FMIN
#define RELAX(start, end, k) least[r][c] = fmin(ADD(start, end), least[r][c]);
#else
#define RELAX(start, end, k) { \
    const TV sum = ADD(start, end); least[r][c] = sum < least[r][c] ? sum : least[r][c]; }
#endif

/* argument       what it is
   out, old       matrices with rows `stride` apart; may be the same one
   out_at         entry of both at which the rectangle of this launch begins
   a, a_at        matrix with rows `a_stride` apart, and the entry at which A begins
   b, b_at        matrix with rows `stride` apart, and the entry at which B begins
   depth          columns of A and rows of B
   skip_row, skip_column   blocks of rows and of columns of the rectangle that are left out
   axis           of the grid, that of rows; on a GPU always 1
   ..._tails      the matrices of tails: an entry that falls through k gets that of (k, j) in B */
kernel __attribute__((reqd_work_group_size(WIDTH, HEIGHT, 1)))
void multiply(global T *out, global const T *old, const ulong out_at, const uint stride,
              global const T *a, const ulong a_at, const uint a_stride,
              global const T *b, const ulong b_at, const uint depth,
              const uint skip_row, const uint skip_column, const uint axis
#if TAILS
              , global int *out_tails, global const int *old_tails, global const int *b_tails
#endif
              )
{
    const uint x = get_local_id(0), y = get_local_id(1);
    const uint row = get_group_id(AXIS) * TILE_ROWS, column = get_group_id(1 - AXIS) * TILE_COLUMNS;
    if (row / BLOCK == skip_row || column / BLOCK == skip_column) return;
    a += a_at + (ulong)row * a_stride;
    b += b_at + column;
    TV least[ROWS][VECTORS];
    EACH_ENTRY least[r][c] = (TV)(INF);
#if TAILS
    IV through[ROWS][VECTORS];
    EACH_ENTRY through[r][c] = (IV)(0);
#endif
#if DEPTH
    local T a_slice[DEPTH][TILE_ROWS + 4] __attribute__((aligned(32)));
    local T b_slice[DEPTH][TILE_COLUMNS] __attribute__((aligned(32)));
    const uint item = y * WIDTH + x;
    for (uint first = 0; first < depth; first += DEPTH) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = item; i < DEPTH * TILE_ROWS; i += ITEMS)
            a_slice[i % DEPTH][i / DEPTH] = a[(ulong)(i / DEPTH) * a_stride + first + i % DEPTH];
        for (uint i = item; i < DEPTH * TILE_COLUMNS; i += ITEMS)
            b_slice[i / TILE_COLUMNS][i % TILE_COLUMNS] =
                b[(ulong)(first + i / TILE_COLUMNS) * stride + i % TILE_COLUMNS];
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLL
        for (uint k = 0; k < DEPTH; k++) {
            TV ends[VECTORS];
            UNROLL for (uint c = 0; c < VECTORS; c++) ends[c] = READ(local, &b_slice[k][COLUMN(c)]);
            EACH_ENTRY RELAX((TV)(a_slice[k][y * ROWS + r]), ends[c], first + k)
        }
    }
#else
    for (uint k = 0; k < depth; k++) {
        TV ends[VECTORS];
        UNROLL for (uint c = 0; c < VECTORS; c++)
            ends[c] = READ(global, b + (ulong)k * stride + COLUMN(c));
        EACH_ENTRY RELAX((TV)(a[(ulong)(y * ROWS + r) * a_stride + k]), ends[c], k)
    }
#endif
    EACH_ENTRY {
        const uint i = row + y * ROWS + r, j = column + COLUMN(c);
        const ulong place = out_at + (ulong)i * stride + j;
        const TV before = READ(global, old + place);
        const IV less = least[r][c] < before;
        *(global TV *)(out + place) = less ? least[r][c] : before;
#if TAILS
        const union { IV all; I each[VEC]; } step = {.all = less ? through[r][c] : (IV)(-1)};
        for (uint v = 0; v < VEC; v++)
            out_tails[place + v] = step.each[v] >= 0
                ? b_tails[b_at + (ulong)step.each[v] * stride + j + v] : old_tails[place + v];
#endif
    }
}
