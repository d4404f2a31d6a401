/* Veneer: pictures from text with diffusion models. The public interface, in C.
 *
 * Threads: different contexts are independent. One context makes one picture order at a time; a second call answers
 * VENEER_BUSY. veneer_cancel may be called from any thread, all else by one thread at a time per context. Callbacks run
 * while veneer_generate waits, on a thread of the context; from them only veneer_cancel may be called.
 *
 * Memory: strings and arrays in parameter structures are borrowed until the call that takes the structure returns. What
 * the library hands out stays its own until freed by the function named beside it. Text is UTF-8.
 *
 * Growth: every parameter structure starts with its size, set by its _init function, so that fields can be added at the
 * end. Values of enumerations never change; a ..._COUNT value means "unset: the library chooses".
 */
#ifndef VENEER_VENEER_H_
#define VENEER_VENEER_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define VENEER_API __attribute__((visibility("default")))
#else
#define VENEER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define VENEER_API_VERSION 1

/* What every function that can fail answers. */
typedef enum veneer_status {
  VENEER_OK = 0,
  VENEER_USAGE = 1,         /* a field or value is wrong */
  VENEER_NOT_FOUND = 2,     /* a model or file is missing */
  VENEER_BAD_FILE = 3,      /* a damaged, truncated, hostile or inconsistent file */
  VENEER_MISMATCH = 4,      /* a part does not fit this model */
  VENEER_UNSUPPORTED = 5,   /* understood, but not available here */
  VENEER_NO_MEMORY = 6,     /* the plan does not fit, or an allocation failed */
  VENEER_IO = 7,            /* reading or writing failed */
  VENEER_VERIFY_FAILED = 8, /* a check the caller asked for did not hold */
  VENEER_BUSY = 9,          /* this context is making a picture */
  VENEER_CANCELLED = 10,    /* the caller stopped it */
  VENEER_BUG = 11           /* an invariant of the library broke */
} veneer_status;

typedef enum veneer_log_level {
  VENEER_LOG_DEBUG = 0,
  VENEER_LOG_INFO = 1,
  VENEER_LOG_WARN = 2,
  VENEER_LOG_ERROR = 3
} veneer_log_level;

typedef enum veneer_phase {
  VENEER_PHASE_LOAD = 0,
  VENEER_PHASE_TEXT = 1,
  VENEER_PHASE_ENCODE = 2,
  VENEER_PHASE_SAMPLE = 3,
  VENEER_PHASE_DECODE = 4
} veneer_phase;

typedef enum veneer_sampler {
  VENEER_SAMPLER_EULER = 0,
  VENEER_SAMPLER_EULER_A = 1,
  VENEER_SAMPLER_HEUN = 2,
  VENEER_SAMPLER_DPM2 = 3,
  VENEER_SAMPLER_DPMPP_2S_A = 4,
  VENEER_SAMPLER_DPMPP_2M = 5,
  VENEER_SAMPLER_DPMPP_2M_V2 = 6,
  VENEER_SAMPLER_IPNDM = 7,
  VENEER_SAMPLER_IPNDM_V = 8,
  VENEER_SAMPLER_LCM = 9,
  VENEER_SAMPLER_DDIM_TRAILING = 10,
  VENEER_SAMPLER_TCD = 11,
  VENEER_SAMPLER_RES_MULTISTEP = 12,
  VENEER_SAMPLER_RES_2S = 13,
  VENEER_SAMPLER_ER_SDE = 14,
  VENEER_SAMPLER_EULER_CFG_PP = 15,
  VENEER_SAMPLER_EULER_A_CFG_PP = 16,
  VENEER_SAMPLER_EULER_GE = 17,
  VENEER_SAMPLER_DPMPP_2M_SDE = 18,
  VENEER_SAMPLER_DPMPP_2M_SDE_BT = 19,
  VENEER_SAMPLER_LMS = 20,
  VENEER_SAMPLER_COUNT = 0x7fffffff
} veneer_sampler;

typedef enum veneer_schedule {
  VENEER_SCHEDULE_DISCRETE = 0,
  VENEER_SCHEDULE_KARRAS = 1,
  VENEER_SCHEDULE_EXPONENTIAL = 2,
  VENEER_SCHEDULE_AYS = 3,
  VENEER_SCHEDULE_SGM_UNIFORM = 4,
  VENEER_SCHEDULE_SIMPLE = 5,
  VENEER_SCHEDULE_SMOOTHSTEP = 6,
  VENEER_SCHEDULE_KL_OPTIMAL = 7,
  VENEER_SCHEDULE_LCM = 8,
  VENEER_SCHEDULE_BONG_TANGENT = 9,
  VENEER_SCHEDULE_LTX2 = 10,
  VENEER_SCHEDULE_LOGIT_NORMAL = 11,
  VENEER_SCHEDULE_FLUX2 = 12,
  VENEER_SCHEDULE_FLUX = 13,
  VENEER_SCHEDULE_BETA = 14,
  VENEER_SCHEDULE_COUNT = 0x7fffffff
} veneer_schedule;

typedef enum veneer_rng { VENEER_RNG_CUDA = 0, VENEER_RNG_CPU = 1, VENEER_RNG_COUNT = 0x7fffffff } veneer_rng;

typedef enum veneer_prediction {
  VENEER_PREDICTION_EPS = 0,
  VENEER_PREDICTION_V = 1,
  VENEER_PREDICTION_EDM_V = 2,
  VENEER_PREDICTION_SD3_FLOW = 3,
  VENEER_PREDICTION_FLUX_FLOW = 4,
  VENEER_PREDICTION_COUNT = 0x7fffffff
} veneer_prediction;

typedef enum veneer_cancel_mode {
  VENEER_CANCEL_ALL = 0,         /* stop at the next model call */
  VENEER_CANCEL_NEW_LATENTS = 1, /* finish the picture in work, leave out the rest of the batch */
  VENEER_CANCEL_RESET = 2        /* forget a cancel that was asked for */
} veneer_cancel_mode;

/* Interleaved rows from the top, eight bits a channel. */
typedef struct veneer_image {
  uint32_t width, height, channel;
  uint8_t* data;
} veneer_image;

typedef struct veneer_context veneer_context;

typedef void (*veneer_log_callback)(veneer_log_level level, const char* line, void* user);
typedef void (*veneer_progress_callback)(veneer_phase phase, int step, int steps, double seconds, void* user);

/* How to open a model. Paths may be NULL or empty. */
typedef struct veneer_ctx_params {
  uint32_t struct_size;
  const char* model_path; /* file or folder; none: the model in data_dir */
  const char* diffusion_model_path;
  const char* clip_l_path;
  const char* vae_path;
  const char* taesd_path;
  const char* tokenizer_path;
  const char* data_dir; /* where models/emoji-v1 and the CLIP vocabulary lie */
  const char* backend;  /* "cpu", "ref"; none: the best */
  int32_t threads;      /* <= 0: physical cores */
  uint8_t strict;       /* reference arithmetic */
  uint8_t no_mmap;      /* read files into memory */
  uint8_t eager_load;
  uint8_t taesd_preview_only;
  veneer_prediction prediction; /* VENEER_PREDICTION_COUNT: as the files say */
  veneer_log_callback log;
  veneer_progress_callback progress;
  void* user;                    /* handed to the callbacks */
  const char* type;              /* number format that weights are held in, "q8_0"; none: as stored */
  const char* tensor_type_rules; /* "REGEX=TYPE,REGEX=TYPE" over original names, first match wins, before `type` */
  const char* adapter_dir;       /* where names of adapters are looked for; none: where the program runs */
  const char* lora_apply_mode;   /* "auto", "at_runtime" or "immediately"; none: auto */
  const char* adapter_policy;    /* "report", "strict" or "lenient"; none: report */
  const char* combine;           /* "sum" or "chain"; none: sum */
  const char* dora;              /* "interp", "peft" or "lycoris"; none: interp */
} veneer_ctx_params;

/* A LoRA or relative to draw with. */
typedef struct veneer_adapter {
  const char* path;    /* a file, or a name in adapter_dir */
  float multiplier;    /* of the denoiser and the autoencoder */
  float te_multiplier; /* of the text encoders; INFINITY: as multiplier */
  uint32_t flags;      /* 0 */
} veneer_adapter;

/* What to draw. */
typedef struct veneer_img_params {
  uint32_t struct_size;
  const char* prompt;
  const char* negative_prompt;
  int32_t width, height; /* pixels; 512 x 512 from _init, 0: the given picture's size, else the model's own */
  int32_t batch_count;
  int32_t steps;
  int32_t clip_skip; /* <= 0: the model's own */
  int64_t seed;      /* < 0: random */
  float cfg_scale;   /* INFINITY: 7, or 1 for models with a guidance input */
  float eta;         /* INFINITY: the sampler's own */
  float strength;    /* with init_image */
  veneer_sampler sampler;
  veneer_schedule schedule;
  veneer_rng rng, sampler_rng;    /* VENEER_RNG_COUNT: cuda; the same as rng */
  const veneer_image* init_image; /* 3 channels, or NULL */
  const veneer_image* mask_image; /* 1 channel, white = repaint, or NULL */
  uint8_t vae_tiling;
  const veneer_adapter* adapters; /* tags in the prompt are not read */
  size_t adapter_count;
} veneer_img_params;

VENEER_API uint32_t veneer_api_version(void);
VENEER_API const char* veneer_version(void);

VENEER_API void veneer_ctx_params_init(veneer_ctx_params* params);
VENEER_API void veneer_img_params_init(veneer_img_params* params);

/* On success *context is the caller's, to be freed. On failure *context is NULL and veneer_last_error(NULL) tells why.
 */
VENEER_API veneer_status veneer_ctx_create(const veneer_ctx_params* params, veneer_context** context);
VENEER_API void veneer_ctx_free(veneer_context* context); /* NULL is allowed */

/* On success *images is an array of *count pictures, to be freed by veneer_images_free. On failure both are empty. */
VENEER_API veneer_status veneer_generate(veneer_context* context, const veneer_img_params* params,
                                         veneer_image** images, size_t* count);
VENEER_API void veneer_images_free(veneer_image* images, size_t count);

/* What adapters would come to, without a picture: every key and every layer's route, as a JSON object (NULL list and 0:
 * an empty text). The text is the context's, valid until its next call. */
VENEER_API veneer_status veneer_adapters_plan(veneer_context* context, const veneer_adapter* adapters, size_t count,
                                              const char** json);
/* The same for the last picture or plan; empty when it had no adapters. */
VENEER_API const char* veneer_last_receipt(const veneer_context* context);

VENEER_API veneer_status veneer_cancel(veneer_context* context, veneer_cancel_mode mode);

/* The last failure of this context as one sentence, or of veneer_ctx_create on this thread for NULL; empty if there was
 * none. Valid until the next call with the same context on this thread. */
VENEER_API const char* veneer_last_error(const veneer_context* context);
/* The file, tensor or field that the failure concerns; may be empty. */
VENEER_API const char* veneer_last_error_where(const veneer_context* context);

/* What "unset" comes to with this model. */
VENEER_API veneer_status veneer_ctx_defaults(const veneer_context* context, veneer_sampler* sampler,
                                             veneer_schedule* schedule);

/* Names both ways; NULL for a value without a name, ..._COUNT for a name that is none. */
VENEER_API const char* veneer_status_name(veneer_status status);
VENEER_API const char* veneer_sampler_name(veneer_sampler sampler);
VENEER_API veneer_sampler veneer_sampler_from_name(const char* name);
VENEER_API const char* veneer_schedule_name(veneer_schedule schedule);
VENEER_API veneer_schedule veneer_schedule_from_name(const char* name);
VENEER_API const char* veneer_rng_name(veneer_rng rng);
VENEER_API veneer_rng veneer_rng_from_name(const char* name);
VENEER_API const char* veneer_prediction_name(veneer_prediction prediction);
VENEER_API veneer_prediction veneer_prediction_from_name(const char* name);

/* Writes "name<TAB>description" lines, cut to `size` bytes with the final zero; returns the bytes needed. */
VENEER_API size_t veneer_list_devices(char* buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* VENEER_VENEER_H_ */
