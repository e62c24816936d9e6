/* Single tensors in numpy's .npy format: numpy can read the files that Heed writes, and vice versa.
 * In PyTorch: numpy.save(path, x.numpy()) and torch.from_numpy(numpy.load(path)).
 *
 *     8 bytes    "\x93NUMPY", and the version of the format
 *     2 bytes    length of the header, little-endian; 4 bytes in versions 2 and 3
 *     header     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, padded with spaces
 *     data       the elements in row-major order, or column-major if fortran_order
 *
 * The whole header is validated before any data is used. File errors are as in
 * tools/files/safetensors.h. To store several tensors in one file, use safetensors; a .npz is a zip
 * of .npy files, so unzip it first.
 */
#ifndef HEED_TOOLS_NPY_H
#define HEED_TOOLS_NPY_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_load_npy: a new tensor, as numpy.load(path): versions 1 to 3, either memory order, either
 * byte order. f4 and f2 become f32; f8 becomes f64; i8 and i4 become i64; b1 becomes bool. Trailing
 * data, as from several numpy.save calls to one file, is an error; numpy.load ignores it.
 *
 * HEED_ERR_FORMAT: not a .npy file, or a damaged one. HEED_ERR_DTYPE: other element types; the
 * message explains how to save them. HEED_ERR_SHAPE: more than 8 dims. */
heed_tensor *heed_load_npy(const char *path);

/* heed_save_npy: writes x, any view of any dtype, like numpy.save(path, x), but with arguments in
 * the order of heed_save_file. The bytes are those that numpy writes for a contiguous array. No
 * .npy is appended to the name. The file is replaced atomically.
 *
 * HEED_ERR_SCOPE: the value of x has been freed. */
heed_status heed_save_npy(const heed_tensor *x, const char *path);

HEED_END_DECLS
#endif
