/* A squaring of a boolean matrix, out = reach | reach reach, 64 vertices to a word.

   A work-item looks after ROWS rows of one vector of words. For every word of pivots its group makes,
   in local memory, the unions of all subsets of every four rows of pivots: a row then takes over one
   union for every four pivots (Arlazarov et al. 1970, with tables of 16). The matrix is padded with
   zeros to whole tiles.

   Macros: WV (VEC words), VEC, WIDTH (vectors of a tile), HEIGHT (items that share each), ROWS. */

#define TABLES 16
#define READ(pointer) (*(global const WV *)(pointer))

/* reach, out: rows `words` apart; first: group of rows to begin with */
kernel __attribute__((reqd_work_group_size(WIDTH, HEIGHT, 1)))
void square(global const ulong *reach, global ulong *out, const uint words, const uint first)
{
    local WV unions[TABLES][16][WIDTH];
    const uint x = get_local_id(0), y = get_local_id(1), item = y * WIDTH + x;
    const uint left = get_group_id(0) * WIDTH * VEC, column = left + x * VEC;
    const ulong top = (ulong)((first + get_group_id(1)) * HEIGHT + y) * ROWS * words;
    WV own[ROWS];
    for (uint r = 0; r < ROWS; r++) own[r] = READ(reach + top + r * words + column);
    for (uint word = 0; word < words; word++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = item; i < TABLES * WIDTH; i += WIDTH * HEIGHT) {
            const uint table = i / WIDTH, lane = i % WIDTH;
            global const ulong *pivots = reach + (ulong)(word * 64 + table * 4) * words
                                       + left + lane * VEC;
            local WV *entry = &unions[table][0][lane];
            entry[0] = (WV)(0);
            for (uint p = 0; p < 4; p++) {
                const WV row = READ(pivots + p * words);
                for (uint u = 0; u < 1u << p; u++)
                    entry[(u | 1u << p) * WIDTH] = entry[u * WIDTH] | row;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint r = 0; r < ROWS; r++) {
            const ulong bits = reach[top + r * words + word];
            if (bits == 0) continue;
            WV found = own[r];
            for (uint t = 0; t < TABLES; t++) found |= unions[t][(bits >> 4 * t) & 15][x];
            own[r] = found;
        }
    }
    for (uint r = 0; r < ROWS; r++) *(global WV *)(out + top + r * words + column) = own[r];
}
