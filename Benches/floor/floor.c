// The baseline of the benches: the least that libav 5.1 costs when called directly, with nothing around it.
//
//     floor FORMAT OUTDIR FILE.wav|FILE.mp3...
//
// Converts the files one after another in this process, on one thread, and prints one line of JSON. It checks every
// call, but does not track damage, trims nothing and verifies nothing: Media's overhead is measured against it. The
// encoders and the resampler have Media's settings. It trusts the file's extension: it names the demuxer, where libav
// would probe the content, and lets libav look into one packet of PCM for another codec, where libav would look into up
// to 32. Nothing is freed where a failure ends the process.

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/audio_fifo.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

// The target formats. A rate of 0 is the source's rate; the channels are always the source's.
typedef struct Target {
    const char *name, *encoder, *muxer, *extension;
    int rate;
    int64_t bit_rate;
    enum AVSampleFormat same_rate, resampled; // the encoder's input: for unconverted 16-bit samples, and otherwise
} Target;

static const Target targets[] = {
    {"wav16k", "pcm_s16le", "wav", "wav", 16000, 0, AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S16},
    {"flac16k", "flac", "flac", "flac", 16000, 0, AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S16},
    {"mp3-16k", "libmp3lame", "mp3", "mp3", 16000, 48000, AV_SAMPLE_FMT_S16P, AV_SAMPLE_FMT_FLTP},
    {"opus16k", "libopus", "ogg", "opus", 16000, 24000, AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_FLT},
    {"wav", "pcm_s16le", "wav", "wav", 0, 0, AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S16},
    {"flac", "flac", "flac", "flac", 0, 0, AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S16},
    {"mp3-128", "libmp3lame", "mp3", "mp3", 0, 128000, AV_SAMPLE_FMT_S16P, AV_SAMPLE_FMT_FLTP},
    {"aac-128", "aac", "ipod", "m4a", 0, 128000, AV_SAMPLE_FMT_FLTP, AV_SAMPLE_FMT_FLTP},
    {"opus-96", "libopus", "ogg", "opus", 48000, 96000, AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_FLT},
};

// One conversion: everything opened for one file and closed after it.
typedef struct Conversion {
    AVFormatContext *in, *out;
    AVCodecContext *decoder, *encoder;
    AVStream *source, *sink;
    SwrContext *swr;      // NULL if the encoder accepts the decoder's output
    AVAudioFifo *fifo;    // NULL if the encoder accepts blocks of any length
    AVFrame *converted;   // output of swr, grown as needed
    AVFrame *block;       // output of the fifo
    AVPacket *coded;      // output of the encoder
    int capacity;         // frames that `converted` can hold
    int64_t frames;       // frames sent to the encoder
} Conversion;

static const char *current = "";

static int check(int result, const char *operation) {
    if (result >= 0) return result;
    char text[AV_ERROR_MAX_STRING_SIZE];
    av_make_error_string(text, sizeof text, result);
    fprintf(stderr, "floor: %s: %s: %s\n", current, operation, text);
    exit(1);
}

static void *need(void *pointer, const char *operation) {
    if (!pointer) check(AVERROR(ENOMEM), operation);
    return pointer;
}

// MARK: Opening

static int is_pcm(enum AVCodecID id) { return id >= AV_CODEC_ID_PCM_S16LE && id < AV_CODEC_ID_ADPCM_IMA_QT; }

// The demuxer for the extension of `path`. The benches make no other sources.
static const AVInputFormat *demuxer(const char *path) {
    const char *dot = strrchr(path, '.');
    const char *name = dot && (!strcmp(dot, ".wav") || !strcmp(dot, ".mp3")) ? dot + 1 : NULL;
    if (!name) check(AVERROR_DEMUXER_NOT_FOUND, "name the demuxer");
    return need((void *)av_find_input_format(name), "av_find_input_format");
}

static void open_input(Conversion *c, const char *path) {
    c->in = need(avformat_alloc_context(), "avformat_alloc_context");
    // 16-bit PCM may be another codec in disguise (S/PDIF, DTS). libav decodes up to 32 packets to find out.
    c->in->max_probe_packets = 1;
    check(avformat_open_input(&c->in, path, demuxer(path), NULL), "avformat_open_input");
    // The header of PCM states everything; probing would decode the beginning for nothing.
    if (c->in->nb_streams != 1 || !is_pcm(c->in->streams[0]->codecpar->codec_id))
        check(avformat_find_stream_info(c->in, NULL), "avformat_find_stream_info");

    const AVCodec *codec = NULL;
    int index = check(av_find_best_stream(c->in, AVMEDIA_TYPE_AUDIO, -1, -1, &codec, 0), "av_find_best_stream");
    for (unsigned i = 0; i < c->in->nb_streams; i++)
        if ((int)i != index) c->in->streams[i]->discard = AVDISCARD_ALL;
    c->source = c->in->streams[index];
    c->decoder = need(avcodec_alloc_context3(codec), "avcodec_alloc_context3");
    check(avcodec_parameters_to_context(c->decoder, c->source->codecpar), "avcodec_parameters_to_context");
    c->decoder->pkt_timebase = c->source->time_base;
    c->decoder->thread_count = 1;
    check(avcodec_open2(c->decoder, codec, NULL), "avcodec_open2 decoder");
}

static void open_output(Conversion *c, const Target *target, const char *path) {
    check(avformat_alloc_output_context2(&c->out, NULL, target->muxer, path), "avformat_alloc_output_context2");
    const AVCodec *codec = need((void *)avcodec_find_encoder_by_name(target->encoder), target->encoder);
    AVCodecContext *encoder = c->encoder = need(avcodec_alloc_context3(codec), "avcodec_alloc_context3");
    int rate = target->rate ? target->rate : c->decoder->sample_rate;
    int is_plain = rate == c->decoder->sample_rate && c->decoder->sample_fmt == AV_SAMPLE_FMT_S16;
    encoder->sample_rate = rate;
    encoder->sample_fmt = is_plain ? target->same_rate : target->resampled;
    encoder->time_base = (AVRational){1, rate};
    encoder->bit_rate = target->bit_rate;
    encoder->thread_count = 1;
    encoder->flags |= AV_CODEC_FLAG_BITEXACT;
    if (!target->bit_rate) encoder->bits_per_raw_sample = 16;
    if (c->out->oformat->flags & AVFMT_GLOBALHEADER) encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if (c->decoder->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC)
        av_channel_layout_default(&encoder->ch_layout, c->decoder->ch_layout.nb_channels);
    else
        check(av_channel_layout_copy(&encoder->ch_layout, &c->decoder->ch_layout), "av_channel_layout_copy");
    check(avcodec_open2(encoder, codec, NULL), "avcodec_open2 encoder");

    c->sink = need(avformat_new_stream(c->out, NULL), "avformat_new_stream");
    c->sink->time_base = encoder->time_base;
    check(avcodec_parameters_from_context(c->sink->codecpar, encoder), "avcodec_parameters_from_context");
    c->out->flags |= AVFMT_FLAG_BITEXACT;
    check(avio_open(&c->out->pb, path, AVIO_FLAG_WRITE), "avio_open");
    check(avformat_write_header(c->out, NULL), "avformat_write_header");
}

static void open_middle(Conversion *c) {
    AVCodecContext *from = c->decoder, *to = c->encoder;
    if (from->sample_rate != to->sample_rate || from->sample_fmt != to->sample_fmt) {
        check(swr_alloc_set_opts2(&c->swr, &to->ch_layout, to->sample_fmt, to->sample_rate, &to->ch_layout,
                                  from->sample_fmt, from->sample_rate, 0, NULL), "swr_alloc_set_opts2");
        if (from->sample_rate != to->sample_rate) {
            check(av_opt_set(c->swr, "resampler", "soxr", 0), "resampler=soxr");
            // From 16 bits to 16 bits soxr would dither with a random seed and give different bytes on every run.
            check(av_opt_set_sample_fmt(c->swr, "internal_sample_fmt", AV_SAMPLE_FMT_FLTP, 0), "internal_sample_fmt");
        }
        check(swr_init(c->swr), "swr_init");
    }
    if (!(to->codec->capabilities & AV_CODEC_CAP_VARIABLE_FRAME_SIZE)) {
        c->fifo = need(av_audio_fifo_alloc(to->sample_fmt, to->ch_layout.nb_channels, to->frame_size * 2),
                       "av_audio_fifo_alloc");
        c->block = need(av_frame_alloc(), "av_frame_alloc");
    }
    c->converted = need(av_frame_alloc(), "av_frame_alloc");
    c->coded = need(av_packet_alloc(), "av_packet_alloc");
}

// MARK: Moving samples

static void allocate(AVFrame *frame, const AVCodecContext *shape, int frames) {
    av_frame_unref(frame);
    frame->format = shape->sample_fmt;
    frame->sample_rate = shape->sample_rate;
    frame->nb_samples = frames;
    check(av_channel_layout_copy(&frame->ch_layout, &shape->ch_layout), "av_channel_layout_copy");
    check(av_frame_get_buffer(frame, 0), "av_frame_get_buffer");
}

static void write_packets(Conversion *c) {
    for (;;) {
        int result = avcodec_receive_packet(c->encoder, c->coded);
        if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return;
        check(result, "avcodec_receive_packet");
        c->coded->stream_index = 0;
        av_packet_rescale_ts(c->coded, c->encoder->time_base, c->sink->time_base);
        check(av_write_frame(c->out, c->coded), "av_write_frame");
    }
}

static void encode(Conversion *c, AVFrame *frame) {
    frame->pts = c->frames;
    c->frames += frame->nb_samples;
    check(avcodec_send_frame(c->encoder, frame), "avcodec_send_frame");
    write_packets(c);
}

// Encodes from the fifo while it holds at least `least` frames.
static void encode_queued(Conversion *c, int least) {
    int size = c->encoder->frame_size;
    while (av_audio_fifo_size(c->fifo) >= least) {
        int count = FFMIN(size, av_audio_fifo_size(c->fifo));
        if (count < 1) return;
        if (!c->block->buf[0] || !av_frame_is_writable(c->block)) allocate(c->block, c->encoder, size);
        c->block->nb_samples = count;
        check(av_audio_fifo_read(c->fifo, (void **)c->block->extended_data, count), "av_audio_fifo_read");
        encode(c, c->block);
    }
}

static void take(Conversion *c, AVFrame *frame) {
    if (!c->fifo) return encode(c, frame);
    check(av_audio_fifo_write(c->fifo, (void **)frame->extended_data, frame->nb_samples), "av_audio_fifo_write");
    encode_queued(c, c->encoder->frame_size);
}

// Converts a decoded frame; NULL drains the resampler. Returns the number of frames that came out.
static int convert(Conversion *c, AVFrame *frame) {
    if (!c->swr) {
        if (frame) take(c, frame);
        return 0;
    }
    int fed = frame ? frame->nb_samples : 0;
    int room = FFMAX(check(swr_get_out_samples(c->swr, fed), "swr_get_out_samples"), frame ? 1 : 4096);
    if (c->capacity < room || !av_frame_is_writable(c->converted)) {
        allocate(c->converted, c->encoder, room);
        c->capacity = room;
    }
    const uint8_t **input = frame ? (const uint8_t **)frame->extended_data : NULL;
    int made = check(swr_convert(c->swr, c->converted->extended_data, room, input, fed), "swr_convert");
    c->converted->nb_samples = made;
    if (made > 0) take(c, c->converted);
    return made;
}

static void run(Conversion *c) {
    AVPacket *packet = need(av_packet_alloc(), "av_packet_alloc");
    AVFrame *frame = need(av_frame_alloc(), "av_frame_alloc");
    for (int is_open = 1; is_open;) {
        int result = av_read_frame(c->in, packet);
        is_open = result != AVERROR_EOF;
        if (is_open) check(result, "av_read_frame");
        if (is_open && packet->stream_index != c->source->index) {
            av_packet_unref(packet);
            continue;
        }
        check(avcodec_send_packet(c->decoder, is_open ? packet : NULL), "avcodec_send_packet");
        av_packet_unref(packet);
        for (;;) {
            result = avcodec_receive_frame(c->decoder, frame);
            if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) break;
            check(result, "avcodec_receive_frame");
            convert(c, frame);
        }
    }
    while (c->swr && convert(c, NULL) > 0) {}
    if (c->fifo) encode_queued(c, 1);
    check(avcodec_send_frame(c->encoder, NULL), "avcodec_send_frame at the end");
    write_packets(c);
    check(av_write_trailer(c->out), "av_write_trailer");
    av_packet_free(&packet);
    av_frame_free(&frame);
}

static void close_all(Conversion *c) {
    check(avio_closep(&c->out->pb), "avio_closep");
    avformat_free_context(c->out);
    avformat_close_input(&c->in);
    avcodec_free_context(&c->decoder);
    avcodec_free_context(&c->encoder);
    swr_free(&c->swr);
    if (c->fifo) av_audio_fifo_free(c->fifo);
    av_frame_free(&c->converted);
    av_frame_free(&c->block);
    av_packet_free(&c->coded);
}

// MARK: Measuring

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double wall_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

// This program's peak memory. getrusage would include the parent's memory before exec.
static long peak_kib(void) {
    char line[256];
    long peak = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld kB", &peak) == 1) break;
    if (status) fclose(status);
    return peak;
}

int main(int count, char **words) {
    const Target *target = NULL;
    for (size_t i = 0; count > 3 && i < sizeof targets / sizeof *targets; i++)
        if (!strcmp(targets[i].name, words[1])) target = &targets[i];
    if (!target) {
        fprintf(stderr, "usage: floor FORMAT OUTDIR FILE...\nformats:");
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) fprintf(stderr, " %s", targets[i].name);
        fprintf(stderr, "\n");
        return 2;
    }
    av_log_set_level(AV_LOG_QUIET);

    int64_t frames = 0, bytes = 0;
    double cpu = cpu_seconds(), wall = wall_seconds();
    for (int i = 3; i < count; i++) {
        current = words[i];
        char path[4096];
        if (snprintf(path, sizeof path, "%s/%d.%s", words[2], i - 3, target->extension) >= (int)sizeof path)
            check(AVERROR(ENAMETOOLONG), "name the output");
        Conversion conversion = {0};
        open_input(&conversion, words[i]);
        open_output(&conversion, target, path);
        open_middle(&conversion);
        run(&conversion);
        frames += conversion.frames;
        bytes += FFMAX(0, avio_size(conversion.out->pb));
        close_all(&conversion);
    }
    cpu = cpu_seconds() - cpu;
    wall = wall_seconds() - wall;
    printf("{\"files\":%d,\"frames\":%lld,\"bytes\":%lld,\"cpuSeconds\":%.6f,\"wallSeconds\":%.6f,\"peakKiB\":%ld}\n",
           count - 3, (long long)frames, (long long)bytes, cpu, wall, peak_kib());
    return 0;
}
