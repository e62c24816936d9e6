/* .npy files: one tensor each. The header is npy_header.c's. */
#include "npy.h"

#include <string.h>

#include "../../autograd/ops/view.h"
#include "../../tensor/alloc.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "atomic_file.h"
#include "file_error.h"
#include "npy_header.h"

static const char loading[] = "load_npy";

/* ---- reading ---- */

static heed_status fail(const heed_input *in, const char *wrong)
{
    return heed_fail(HEED_ERR_FORMAT, "%s: %s: %s", loading, heed_show_path(in->path).text, wrong);
}

/* What stands before the header: magic bytes, version, length. */
static heed_status read_start(const heed_input *in, int *version, int64_t *at, uint32_t *length)
{
    unsigned char start[12] = {0};
    const int64_t size = in->size < 12 ? in->size : 12;
    if (heed_input_read(in, loading, start, size, 0) != HEED_OK) {
        return heed_error_pending();
    }
    if (size >= 4 && memcmp(start, "PK\3\4", 4) == 0) {
        return fail(in, "it is a zip, as numpy.savez writes; unzip it and load a .npy file of it");
    }
    if (size < 10 || memcmp(start, "\x93NUMPY", 6) != 0) {
        return fail(in, "it does not begin as a .npy file does");
    }
    if (start[6] < 1 || start[6] > 3 || start[7] != 0) {
        return heed_fail(HEED_ERR_FORMAT, "%s: %s: version %d.%d of the format is unknown", loading,
                         heed_show_path(in->path).text, start[6], start[7]);
    }
    *version = start[6];
    *at = *version == 1 ? 10 : 12;
    memcpy(length, start + 8, *version == 1 ? 2 : 4);
    return HEED_OK;
}

static heed_status read_header(const heed_input *in, heed_npy_header *header, int64_t *data)
{
    char text[HEED_NPY_MOST_HEADER + 1];
    int version = 0;
    uint32_t length = 0;
    int64_t at = 0;
    if (read_start(in, &version, &at, &length) != HEED_OK) {
        return heed_error_pending();
    }
    *data = at + length;
    if (*data > in->size || length > HEED_NPY_MOST_HEADER) {
        return heed_fail(HEED_ERR_FORMAT, "%s: %s: its header would have %lld bytes, more than %s",
                         loading, heed_show_path(in->path).text, (long long)length,
                         *data > in->size ? "the file" : "the 10000 that are allowed");
    }
    if (heed_input_read(in, loading, text, length, at) != HEED_OK ||
        heed_npy_header_read(header, loading, in->path, text, length, version) != HEED_OK) {
        return heed_error_pending();
    }
    const int64_t need = header->numel * (header->dtype->bits / 8), have = in->size - *data;
    if (need != have) {
        return heed_fail(
            HEED_ERR_FORMAT,
            "%s: %s: its shape %s of %s needs %lld bytes, but %lld follow the header%s", loading,
            heed_show_path(in->path).text,
            heed_shape_text(header->shape.ndim, header->shape.size).text, header->dtype->name,
            (long long)need, (long long)have,
            have > need ? "; save each array in a file of its own" : "");
    }
    return HEED_OK;
}

/* Elements in Fortran's order are those of the array with its dims the other way round. */
static heed_tensor *read_array(const heed_input *in, const heed_npy_header *header, int64_t data)
{
    const int ndim = header->shape.ndim;
    heed_shape stored = header->shape;
    heed_dims back = {.count = ndim};
    for (int i = 0; i < ndim && header->fortran; i++) {
        stored.size[i] = header->shape.size[ndim - 1 - i];
        back.dim[i] = ndim - 1 - i;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *x = heed_empty(stored, header->dtype->as);
    if (x != NULL) {
        heed_input_elements(in, loading, x, header->dtype, header->big_endian, data);
    }
    if (header->fortran && ndim > 1) {
        x = heed_contiguous(heed_permute(x, back));
    }
    return heed_scope_end_with(&scope, x);
}

heed_tensor *heed_load_npy(const char *path)
{
    heed_input in;
    heed_npy_header header;
    heed_tensor *x = NULL;
    int64_t data = 0;
    if (heed_error_pending() || heed_check_scope(loading) != HEED_OK) {
        return NULL;
    }
    if (heed_input_open(&in, loading, path) == HEED_OK &&
        read_header(&in, &header, &data) == HEED_OK) {
        x = read_array(&in, &header, data);
    }
    heed_input_close(&in);
    return x;
}

/* ---- writing ---- */

heed_status heed_save_npy(const heed_tensor *x, const char *path)
{
    static const char saving[] = "save_npy";
    char header[HEED_NPY_WRITTEN];
    heed_atomic_file file;
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    if (x == NULL || path == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: %s is NULL", saving, x == NULL ? "x" : "the path");
    }
    if (x->storage == NULL) {
        return heed_fail(HEED_ERR_SCOPE,
                         "%s: %s: the value of x has been let go; heed_retain it in its scope",
                         saving, heed_show_path(path).text);
    }
    const size_t room_size = heed_room_to_write(x);
    void *room = heed_alloc(room_size); /* before the file is begun */
    if (room == NULL) {
        return heed_error_pending();
    }
    const size_t length = heed_npy_header_write(header, x->dtype, heed_shape_of_tensor(x));
    heed_atomic_begin(&file, saving, path);
    heed_atomic_write(&file, header, length);
    heed_atomic_write_tensor(&file, x, room);
    heed_atomic_end(&file);
    heed_free(room, room_size);
    return heed_error_pending();
}
