/*
 * ringlog - a fixed-size, in-memory log for small devices.
 *
 * Records are written into a byte ring without any allocation. When the ring
 * is full, the oldest records are dropped, so the last few seconds before a
 * crash are always there. Each record looks like this:
 *
 *     +-------+-------+-------+----------+---------------------+
 *     | magic | level | length (16 bit)  | time | text, no NUL |
 *     +-------+-------+-------+----------+---------------------+
 *
 * The capacity must be a power of two so that wrapping is a single AND.
 */

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RINGLOG_MAGIC     0xA5u
#define RINGLOG_CAPACITY  (1u << 12)
#define RINGLOG_MASK      (RINGLOG_CAPACITY - 1)
#define RINGLOG_MAX_TEXT  240

#define ARRAY_SIZE(a)     (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)         ((a) < (b) ? (a) : (b))

_Static_assert((RINGLOG_CAPACITY & RINGLOG_MASK) == 0,
               "capacity must be a power of two");

enum log_level {
    LOG_DEBUG,
    LOG_INFO,
    LOG_WARNING,
    LOG_ERROR,
};

static const char *const level_names[] = {
    [LOG_DEBUG]   = "debug",
    [LOG_INFO]    = "info",
    [LOG_WARNING] = "warning",
    [LOG_ERROR]   = "error",
};

struct record_header {
    uint8_t  magic;
    uint8_t  level;
    uint16_t length;
    uint32_t seconds;
};

struct ringlog {
    uint32_t head;              /* next byte to write, never wrapped */
    uint32_t tail;              /* first byte of the oldest record */
    unsigned long dropped;
    enum log_level threshold;
    uint8_t bytes[RINGLOG_CAPACITY];
};

typedef bool (*record_visitor)(const struct record_header *header,
                               const char *text, void *context);

void ringlog_init(struct ringlog *log, enum log_level threshold)
{
    memset(log, 0, sizeof *log);
    log->threshold = threshold;
}

static inline uint32_t ringlog_used(const struct ringlog *log)
{
    /* Unsigned subtraction stays correct when head overflows. */
    return log->head - log->tail;
}

static void ring_write(struct ringlog *log, const void *source, size_t size)
{
    const uint32_t offset = log->head & RINGLOG_MASK;
    const size_t first = MIN(size, (size_t)(RINGLOG_CAPACITY - offset));

    memcpy(log->bytes + offset, source, first);
    memcpy(log->bytes, (const uint8_t *)source + first, size - first);
    log->head += (uint32_t)size;
}

static void ring_read(const struct ringlog *log, uint32_t position,
                      void *target, size_t size)
{
    const uint32_t offset = position & RINGLOG_MASK;
    const size_t first = MIN(size, (size_t)(RINGLOG_CAPACITY - offset));

    memcpy(target, log->bytes + offset, first);
    memcpy((uint8_t *)target + first, log->bytes, size - first);
}

static void drop_oldest(struct ringlog *log)
{
    struct record_header header;

    ring_read(log, log->tail, &header, sizeof header);
    if (header.magic != RINGLOG_MAGIC) {
        /* Somebody wrote over our memory; the rest cannot be trusted. */
        log->tail = log->head;
        return;
    }
    log->tail += (uint32_t)sizeof header + header.length;
    log->dropped++;
}

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int ringlog_printf(struct ringlog *log, enum log_level level,
                   const char *format, ...)
{
    char text[RINGLOG_MAX_TEXT + 1];
    va_list args;
    int length;

    if (level < log->threshold)
        return 0;

    va_start(args, format);
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        return -1;
    if (length > RINGLOG_MAX_TEXT) {
        length = RINGLOG_MAX_TEXT;
        memcpy(text + length - 3, "...", 3);
    }

    const struct record_header header = {
        .magic = RINGLOG_MAGIC,
        .level = (uint8_t)level,
        .length = (uint16_t)length,
        .seconds = (uint32_t)time(NULL),
    };
    const size_t needed = sizeof header + (size_t)length;

    while (RINGLOG_CAPACITY - ringlog_used(log) < needed)
        drop_oldest(log);
    ring_write(log, &header, sizeof header);
    ring_write(log, text, (size_t)length);
    return length;
}

#define LOG_AT(log, level, ...) \
    do { \
        if ((level) >= (log)->threshold) \
            ringlog_printf((log), (level), __VA_ARGS__); \
    } while (0)

/* Calls the visitor for each record, oldest first; stops when it says false. */
size_t ringlog_each(const struct ringlog *log, record_visitor visit, void *context)
{
    struct record_header header;
    char text[RINGLOG_MAX_TEXT + 1];
    size_t count = 0;

    for (uint32_t at = log->tail; at != log->head;
         at += (uint32_t)sizeof header + header.length) {
        ring_read(log, at, &header, sizeof header);
        if (header.magic != RINGLOG_MAGIC || header.length > RINGLOG_MAX_TEXT)
            break;
        ring_read(log, at + (uint32_t)sizeof header, text, header.length);
        text[header.length] = '\0';
        count++;
        if (!visit(&header, text, context))
            break;
    }
    return count;
}

struct print_options {
    FILE *out;
    const char *needle;         /* NULL prints everything */
    size_t printed;
};

static bool print_record(const struct record_header *header,
                         const char *text, void *context)
{
    struct print_options *options = context;
    char stamp[sizeof "23:59:59"];
    const time_t when = (time_t)header->seconds;
    const struct tm *utc = gmtime(&when);
    const char *name = "?";

    if (options->needle && !strstr(text, options->needle))
        return true;
    if (header->level < ARRAY_SIZE(level_names))
        name = level_names[header->level];
    if (!utc || strftime(stamp, sizeof stamp, "%H:%M:%S", utc) == 0)
        strcpy(stamp, "--:--:--");

    fprintf(options->out, "%s %-8s", stamp, name);
    for (const char *p = text; *p != '\0'; p++) {
        /* Keep UTF-8 as it is, but make control characters visible. */
        if (iscntrl((unsigned char)*p))
            fprintf(options->out, "\\x%02x", (unsigned)(unsigned char)*p);
        else
            fputc(*p, options->out);
    }
    fputc('\n', options->out);
    options->printed++;
    return !ferror(options->out);
}

int main(int argc, char **argv)
{
    static struct ringlog log;
    struct print_options options = { .out = stdout };

    if (argc > 1)
        options.needle = argv[1];

    ringlog_init(&log, LOG_INFO);
    LOG_AT(&log, LOG_DEBUG, "this line is below the threshold");
    for (int i = 0; i < 500; i++) {
        const double celsius = 18.5 + (i * 37 % 60) / 10.0;

        LOG_AT(&log, LOG_INFO, "sensor %d: %.1f °C", i % 4, celsius);
        if (celsius > 24.0)
            LOG_AT(&log, LOG_WARNING, "sensor %d is too hot\t(#%d)", i % 4, i);
    }
    LOG_AT(&log, LOG_ERROR, "watchdog fired at 0x%08" PRIx32, (uint32_t)0xdeadbeef);

    /* TODO: dump to flash instead, once the driver can write whole pages */
    const size_t seen = ringlog_each(&log, print_record, &options);
    fprintf(stderr, "%zu of %zu records, %lu dropped, %" PRIu32 "/%u bytes\n",
            options.printed, seen, log.dropped, ringlog_used(&log), RINGLOG_CAPACITY);
    return options.printed ? EXIT_SUCCESS : EXIT_FAILURE;
}
