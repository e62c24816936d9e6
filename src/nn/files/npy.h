/* One tensor in a file, as numpy's .npy: numpy.load reads what Heed writes, and the other way
 * round. From PyTorch: numpy.save(path, x.numpy()), torch.from_numpy(numpy.load(path)).
 *
 *     8 bytes    "\x93NUMPY", and the version of the format
 *     2 bytes    how long the header is, little-endian; 4 bytes from version 2 on
 *     header     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, and spaces
 *     data       the elements, row by row, or in Fortran's order column by column
 *
 * A file is checked as a whole before anything of it is used, as for safetensors, whose errors
 * (nn/files/safetensors.h) these are too. Several tensors go into one file of safetensors; a .npz
 * is a zip of .npy files, to be unzipped first.
 */
#ifndef HEED_NN_NPY_H
#define HEED_NN_NPY_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_load_npy: a new tensor, as numpy.load(path): versions 1 to 3, both orders, both byte orders.
 * f4 and f2 become f32, f8 f64, i8 and i4 i64, b1 bool. An array with more behind it, as several
 * calls of numpy.save into one file leave it, is an error; numpy.load would pass over that.
 *
 * HEED_ERR_FORMAT: this is no .npy file, or a damaged one. HEED_ERR_DTYPE: elements of another
 * kind; the sentence says how to save them. HEED_ERR_SHAPE: more than 8 dims. */
heed_tensor *heed_load_npy(const char *path);

/* heed_save_npy: writes x, any view of any dtype, as numpy.save(path, x), but with the arguments in
 * the order of heed_save_file: the same bytes as numpy writes for a contiguous array. The name is
 * taken as it is, without a .npy being added. The file is replaced as a whole or not at all.
 *
 * HEED_ERR_SCOPE: the value of x has been released. */
heed_status heed_save_npy(const heed_tensor *x, const char *path);

HEED_END_DECLS
#endif
