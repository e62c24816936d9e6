/* TensorBoard's event files: TFRecords of Event messages, encoded by hand.
 *
 * A record is its length, the length's checksum, the message and its checksum; numbers are
 * little-endian, and a checksum is a masked CRC-32C. Sources: tensorflow.org/tutorials/load_data
 * (TFRecord), protobuf.dev/programming-guides/encoding, and event.proto, summary.proto and
 * tensor.proto of github.com/tensorflow/tensorboard (Apache License 2.0). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../files/file_io.h"
#include "watch_sink.h"

typedef struct tensorboard {
    heed_sink sink;
    uint32_t table[256]; /* of the checksum */
    uint32_t sum;        /* of the bytes written since put_sum */
    char path[4096];
} tensorboard;

/* ---- records ---- */

/* CRC-32C: the Castagnoli polynomial, bits reversed. */
static void fill_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t sum = i;
        for (int bit = 0; bit < 8; bit++) {
            sum = (sum & 1) != 0 ? sum >> 1 ^ 0x82F63B78u : sum >> 1;
        }
        table[i] = sum;
    }
}

static void put(tensorboard *t, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint32_t sum = ~t->sum;
    for (size_t i = 0; i < size; i++) {
        sum = t->table[(sum ^ bytes[i]) & 0xFF] ^ sum >> 8;
    }
    t->sum = ~sum;
    heed_output_bytes(&t->sink.out, data, size);
}

static void put_fixed(tensorboard *t, uint64_t bits, int size)
{
    unsigned char bytes[8] = {0};
    for (int i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(bits >> 8 * i);
    }
    put(t, bytes, (size_t)size);
}

static void put_sum(tensorboard *t)
{
    const uint32_t rotated = t->sum >> 15 | t->sum << 17;
    put_fixed(t, (uint32_t)(rotated + 0xA282EAD8u), 4);
    t->sum = 0;
}

/* ---- messages: a key is 8 * the field's number + its type ---- */

enum {
    VARINT = 0,
    FIXED64 = 1,
    BYTES = 2, /* also strings and messages */
    FIXED32 = 5
};
#define KEY(field, type) (8 * (field) + (type)) /* below 128: one byte */

static size_t varint_size(uint64_t number)
{
    size_t size = 1;
    for (; number >= 128; number >>= 7) {
        size++;
    }
    return size;
}

/* Including its key. */
static size_t bytes_size(size_t size)
{
    return 1 + varint_size(size) + size;
}

static void put_varint(tensorboard *t, uint64_t number)
{
    unsigned char bytes[10];
    size_t size = 0;
    for (; number >= 128; number >>= 7) {
        bytes[size++] = (unsigned char)(number | 128);
    }
    bytes[size++] = (unsigned char)number;
    put(t, bytes, size);
}

static void put_number(tensorboard *t, int field, uint64_t number)
{
    put_varint(t, KEY(field, VARINT));
    put_varint(t, number);
}

/* Begins a message of `size` bytes, which the caller writes. */
static void put_message(tensorboard *t, int field, size_t size)
{
    put_varint(t, KEY(field, BYTES));
    put_varint(t, size);
}

static void put_text(tensorboard *t, int field, const char *text)
{
    put_message(t, field, strlen(text));
    put(t, text, strlen(text));
}

/* The fields used here. */
enum {
    EVENT_WALL_TIME = 1,
    EVENT_STEP = 2,
    EVENT_FILE_VERSION = 3,
    EVENT_SUMMARY = 5,
    EVENT_SESSION_LOG = 7,
    SESSION_LOG_STATUS = 1,
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SIMPLE_VALUE = 2,
    VALUE_TENSOR = 8,
    VALUE_METADATA = 9,
    METADATA_PLUGIN_DATA = 1,
    METADATA_DATA_CLASS = 4,
    PLUGIN_DATA_NAME = 1,
    TENSOR_DTYPE = 1,
    TENSOR_SHAPE = 2,
    TENSOR_STRING_VAL = 8
};
enum { STATUS_START = 1, DATA_CLASS_TENSOR = 2, DT_STRING = 7 };

/* Begins a record: an event, whose other fields (`rest` bytes) the caller writes. */
static void begin_event(tensorboard *t, int64_t step, size_t rest)
{
    struct timespec now;
    uint64_t bits;
    clock_gettime(CLOCK_REALTIME, &now);
    const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    memcpy(&bits, &seconds, sizeof bits);
    t->sum = 0;
    put_fixed(t, 1 + sizeof bits + 1 + varint_size((uint64_t)step) + rest, 8);
    put_sum(t);
    put_varint(t, KEY(EVENT_WALL_TIME, FIXED64));
    put_fixed(t, bits, 8);
    put_number(t, EVENT_STEP, (uint64_t)step);
}

/* ---- the file ---- */

static heed_status make_folder(const char *path)
{
    char part[4096];
    const size_t length = strlen(path);
    if (length == 0 || length + 400 > sizeof part) {
        return heed_fail_file("watch_new", path, "create it", length == 0 ? ENOENT : ENAMETOOLONG);
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] == '/' || path[i] == '\0') {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            if (mkdir(part, 0777) != 0 && errno != EEXIST && path[i] == '\0') {
                return heed_fail_file("watch_new", path, "create it", errno);
            }
        }
    }
    return HEED_OK;
}

static heed_status create(tensorboard *t, const char *folder)
{
    char host[256] = "";
    bool exists = true;
    gethostname(host, sizeof host - 1);
    for (int n = 0; exists; n++) {
        snprintf(t->path, sizeof t->path, "%s/events.out.tfevents.%lld.%s.%ld.%d", folder,
                 (long long)time(NULL), host, (long)getpid(), n);
        t->sink.out.fd = heed_open(t->path, O_WRONLY | O_CREAT | O_EXCL);
        exists = t->sink.out.fd < 0 && errno == EEXIST;
    }
    return t->sink.out.fd >= 0 ? HEED_OK : heed_fail_file("watch_new", t->path, "create it", errno);
}

/* TensorBoard discards the steps of earlier files from the step of a START on, except for the first
 * START. */
static heed_status tensorboard_open(heed_sink *sink, heed_watch *w)
{
    static const char version[] = "brain.Event:2";
    tensorboard *t = (tensorboard *)sink;
    sink->path = t->path;
    if (make_folder(w->options.tensorboard) != HEED_OK ||
        create(t, w->options.tensorboard) != HEED_OK) {
        return heed_error_pending();
    }
    fill_table(t->table);
    begin_event(t, 0, bytes_size(strlen(version)));
    put_text(t, EVENT_FILE_VERSION, version);
    put_sum(t);
    begin_event(t, w->steps + 1, bytes_size(2));
    put_message(t, EVENT_SESSION_LOG, 2);
    put_number(t, SESSION_LOG_STATUS, STATUS_START);
    put_sum(t);
    heed_output_flush(&sink->out);
    return HEED_OK;
}

/* ---- values and texts ---- */

static size_t scalar_size(const heed_series *s)
{
    return bytes_size(strlen(s->name)) + 1 + sizeof(float);
}

static void put_scalar(tensorboard *t, const heed_series *s)
{
    const float value = (float)s->value;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_message(t, SUMMARY_VALUE, scalar_size(s));
    put_text(t, VALUE_TAG, s->name);
    put_varint(t, KEY(VALUE_SIMPLE_VALUE, FIXED32));
    put_fixed(t, bits, 4);
}

static void tensorboard_step(heed_sink *sink, heed_watch *w)
{
    tensorboard *t = (tensorboard *)sink;
    size_t summary = 0;
    for (int i = 0; i < w->count; i++) {
        const heed_series *s = &w->series[i];
        summary += heed_series_is_fresh(w, s) ? bytes_size(scalar_size(s)) : 0;
    }
    if (summary == 0) {
        return;
    }
    begin_event(t, w->steps, bytes_size(summary));
    put_message(t, EVENT_SUMMARY, summary);
    for (int i = 0; i < w->count; i++) {
        if (heed_series_is_fresh(w, &w->series[i])) {
            put_scalar(t, &w->series[i]);
        }
    }
    put_sum(t);
}

/* A tensor with 0 dims for the plugin "text". */
static void tensorboard_text(heed_sink *sink, const heed_watch *w, const char *name,
                             const char *text)
{
    tensorboard *t = (tensorboard *)sink;
    const size_t plugin = bytes_size(strlen("text")), metadata = bytes_size(plugin) + 2;
    const size_t tensor = 2 + bytes_size(0) + bytes_size(strlen(text));
    const size_t value = bytes_size(strlen(name)) + bytes_size(tensor) + bytes_size(metadata);
    const size_t summary = bytes_size(value);
    begin_event(t, w->steps + 1, bytes_size(summary));
    put_message(t, EVENT_SUMMARY, summary);
    put_message(t, SUMMARY_VALUE, value);
    put_text(t, VALUE_TAG, name);
    put_message(t, VALUE_TENSOR, tensor);
    put_number(t, TENSOR_DTYPE, DT_STRING);
    put_message(t, TENSOR_SHAPE, 0);
    put_text(t, TENSOR_STRING_VAL, text);
    put_message(t, VALUE_METADATA, metadata);
    put_message(t, METADATA_PLUGIN_DATA, plugin);
    put_text(t, PLUGIN_DATA_NAME, "text");
    put_number(t, METADATA_DATA_CLASS, DATA_CLASS_TENSOR);
    put_sum(t);
}

const heed_sink_kind heed_tensorboard_sink = {.size = sizeof(tensorboard),
                                              .open = tensorboard_open,
                                              .step = tensorboard_step,
                                              .text = tensorboard_text};
