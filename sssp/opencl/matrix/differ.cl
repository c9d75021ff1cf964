/* Set `changed` to 1 if two matrices, with rows `stride` apart, differ in the first `columns` entries
   of a row. A work-item looks at every `get_global_size(1)`-th entry of one row.

   (A kernel of its own, on single numbers: any() of long vectors in the kernels that make a matrix
   lets the compiler of PoCL 3.0, LLVM 14, crash or run for ever.)

   Macro: T. */
kernel void differ(global const T *one, global const T *other, const uint stride,
                   const uint columns, global int *changed)
{
    const ulong start = get_global_id(0) * (ulong)stride;
    int news = 0;
    for (uint j = get_global_id(1); j < columns; j += get_global_size(1))
        news |= one[start + j] != other[start + j];
    if (news) *changed = 1;
}
