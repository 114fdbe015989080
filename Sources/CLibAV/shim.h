// Makes macros of libav with casts or arguments visible to Swift, which cannot import them, and gives one name to what is
// called differently in libav 5.1 and 7.1. Contains no logic.
#ifndef SLUICE_CLIBAV_SHIM_H
#define SLUICE_CLIBAV_SHIM_H

#include <libavcodec/avcodec.h>
#include <libavcodec/vorbis_parser.h>
#include <libavformat/avformat.h>
#include <libavutil/audio_fifo.h>
#include <libavutil/avutil.h>
#include <libavutil/base64.h>
#include <libavutil/channel_layout.h>
#include <libavutil/crc.h>
#include <libavutil/dict.h>
#include <libavutil/error.h>
#include <libavutil/hash.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/log.h>
#include <libavutil/mathematics.h>
#include <libavutil/opt.h>
#include <libavutil/samplefmt.h>
#include <libavutil/tx.h>
#include <libswresample/swresample.h>

// mallopt, which the module map of glibc leaves out.
#include <malloc.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int SLUICE_PROBE_SCORE_RETRY = AVPROBE_SCORE_RETRY;
static const int SLUICE_AVERROR_EOF = AVERROR_EOF;
static const int SLUICE_AVERROR_EXIT = AVERROR_EXIT;
static const int SLUICE_AVERROR_INVALIDDATA = AVERROR_INVALIDDATA;
static const int SLUICE_AVERROR_PATCHWELCOME = AVERROR_PATCHWELCOME;
static const int SLUICE_AVERROR_BUG = AVERROR_BUG;
static const int SLUICE_AVERROR_BUG2 = AVERROR_BUG2;
static const int SLUICE_AVERROR_UNKNOWN = AVERROR_UNKNOWN;
static const int SLUICE_AVERROR_EXPERIMENTAL = AVERROR_EXPERIMENTAL;
static const int SLUICE_AVERROR_DECODER_NOT_FOUND = AVERROR_DECODER_NOT_FOUND;
static const int SLUICE_AVERROR_DEMUXER_NOT_FOUND = AVERROR_DEMUXER_NOT_FOUND;
static const int SLUICE_AVERROR_ENCODER_NOT_FOUND = AVERROR_ENCODER_NOT_FOUND;
static const int SLUICE_AVERROR_MUXER_NOT_FOUND = AVERROR_MUXER_NOT_FOUND;
static const int SLUICE_AVERROR_STREAM_NOT_FOUND = AVERROR_STREAM_NOT_FOUND;
static const int SLUICE_AVERROR_INPUT_CHANGED = AVERROR_INPUT_CHANGED;
static const int SLUICE_AVERROR_OUTPUT_CHANGED = AVERROR_OUTPUT_CHANGED;
static const int SLUICE_AVERROR_BUFFER_TOO_SMALL = AVERROR_BUFFER_TOO_SMALL;
static const int SLUICE_AVERROR_EXTERNAL = AVERROR_EXTERNAL;
static const int64_t SLUICE_NO_TIMESTAMP = AV_NOPTS_VALUE;

// The sample formats that an encoder takes, ended by AV_SAMPLE_FMT_NONE; NULL if it does not say.
static inline const enum AVSampleFormat *sluice_sample_formats(const AVCodec *codec) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
    const void *formats = NULL;
    avcodec_get_supported_config(NULL, codec, AV_CODEC_CONFIG_SAMPLE_FORMAT, 0, &formats, NULL);
    return (const enum AVSampleFormat *)formats;
#else
    return codec->sample_fmts;
#endif
}

// glibc's fstat makes a system call that takes a path (here an empty one). A room's system call filter forbids calls
// that take paths, so this one makes the older call.
static inline int sluice_fstat(int descriptor, struct stat *status) {
    return (int)syscall(SYS_fstat, descriptor, status);
}

#endif
