/* The C interface, used as a program in C would: opening, drawing, names, failures, cancelling and growth of
 * structures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "veneer/veneer.h"

static int passed, failed;

#define CHECK(condition)                                             \
  do {                                                               \
    if (condition) {                                                 \
      ++passed;                                                      \
    } else {                                                         \
      ++failed;                                                      \
      printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                \
  } while (0)

typedef struct observer {
  veneer_context* context;
  int steps_seen, last_step, went_back, cancel_at, busy;
} observer;

static void on_progress(veneer_phase phase, int step, int steps, double seconds, void* user) {
  observer* seen = (observer*)user;
  (void)seconds;
  if (phase != VENEER_PHASE_SAMPLE) return;
  if (step < seen->last_step) seen->went_back = 1;
  seen->last_step = step;
  seen->steps_seen = steps;
  if (step == 1) {
    veneer_img_params params;
    veneer_image* images = NULL;
    size_t count = 0;
    veneer_img_params_init(&params);
    seen->busy = veneer_generate(seen->context, &params, &images, &count) == VENEER_BUSY;
  }
  if (seen->cancel_at > 0 && step == seen->cancel_at) veneer_cancel(seen->context, VENEER_CANCEL_ALL);
}

static veneer_context* open_model(const char* path, observer* seen) {
  veneer_ctx_params params;
  veneer_context* context = NULL;
  veneer_ctx_params_init(&params);
  params.model_path = path;
  params.threads = 2;
  params.progress = on_progress;
  params.user = seen;
  CHECK(veneer_ctx_create(&params, &context) == VENEER_OK);
  seen->context = context;
  return context;
}

static veneer_img_params small_order(void) {
  veneer_img_params params;
  veneer_img_params_init(&params);
  params.prompt = "a photo of a cat";
  params.width = params.height = 32;
  params.steps = 4;
  params.seed = 7;
  return params;
}

static void test_names(void) {
  int i;
  CHECK(veneer_api_version() == VENEER_API_VERSION);
  CHECK(strlen(veneer_version()) > 0);
  for (i = 0; veneer_sampler_name((veneer_sampler)i) != NULL; ++i)
    CHECK(veneer_sampler_from_name(veneer_sampler_name((veneer_sampler)i)) == (veneer_sampler)i);
  CHECK(i == VENEER_SAMPLER_LMS + 1);
  for (i = 0; veneer_schedule_name((veneer_schedule)i) != NULL; ++i)
    CHECK(veneer_schedule_from_name(veneer_schedule_name((veneer_schedule)i)) == (veneer_schedule)i);
  CHECK(i == VENEER_SCHEDULE_BETA + 1);
  CHECK(veneer_sampler_from_name("no such sampler") == VENEER_SAMPLER_COUNT);
  CHECK(veneer_schedule_from_name(NULL) == VENEER_SCHEDULE_COUNT);
  CHECK(strcmp(veneer_rng_name(VENEER_RNG_CPU), "cpu") == 0);
  CHECK(strcmp(veneer_prediction_name(VENEER_PREDICTION_V), "v") == 0);
  CHECK(strcmp(veneer_status_name(VENEER_BAD_FILE), "bad_file") == 0);
}

static void test_devices(void) {
  char small[4], *whole;
  const size_t needed = veneer_list_devices(NULL, 0);
  CHECK(needed > 1);
  CHECK(veneer_list_devices(small, sizeof small) == needed && strlen(small) == 3);
  whole = malloc(needed);
  CHECK(veneer_list_devices(whole, needed) == needed && strlen(whole) + 1 == needed);
  CHECK(strstr(whole, "cpu\t") != NULL);
  free(whole);
}

static void test_drawing(const char* model) {
  observer seen = {0};
  veneer_context* context = open_model(model, &seen);
  veneer_img_params params = small_order();
  veneer_image *first = NULL, *second = NULL;
  size_t count = 0, again = 0;
  CHECK(veneer_generate(context, &params, &first, &count) == VENEER_OK);
  CHECK(count == 1 && first[0].width == 32 && first[0].height == 32 && first[0].channel == 3);
  CHECK(seen.steps_seen == 4 && seen.last_step == 4 && !seen.went_back && seen.busy);

  /* The same again, and with every sampler: none fails. */
  seen.last_step = 0;
  CHECK(veneer_generate(context, &params, &second, &again) == VENEER_OK);
  CHECK(again == 1 && memcmp(first[0].data, second[0].data, 32 * 32 * 3) == 0);
  veneer_images_free(second, again);
  for (int s = 0; veneer_sampler_name((veneer_sampler)s) != NULL; ++s) {
    seen.last_step = 0;
    params.sampler = (veneer_sampler)s;
    CHECK(veneer_generate(context, &params, &second, &again) == VENEER_OK);
    veneer_images_free(second, again);
  }

  /* A picture as the start, at strength 0: nearly itself. */
  params = small_order();
  params.init_image = &first[0];
  params.strength = 0.0f;
  seen.last_step = 0;
  CHECK(veneer_generate(context, &params, &second, &again) == VENEER_OK);
  CHECK(again == 1 && second[0].width == 32);
  veneer_images_free(second, again);
  veneer_images_free(first, count);
  veneer_ctx_free(context);
}

static void test_cancelling(const char* model) {
  observer seen = {0};
  veneer_context* context = open_model(model, &seen);
  veneer_img_params params = small_order();
  veneer_image* images = NULL;
  size_t count = 1;
  params.steps = 50;
  CHECK(veneer_cancel(context, VENEER_CANCEL_ALL) == VENEER_OK); /* idle: changes nothing */
  seen.cancel_at = 2;
  CHECK(veneer_generate(context, &params, &images, &count) == VENEER_CANCELLED);
  CHECK(seen.last_step <= 3 && images == NULL && count == 0);
  CHECK(strlen(veneer_last_error(context)) > 0);
  seen.cancel_at = 0;
  seen.last_step = 0;
  params.steps = 2;
  CHECK(veneer_generate(context, &params, &images, &count) == VENEER_OK && count == 1);
  CHECK(strlen(veneer_last_error(context)) == 0);
  veneer_images_free(images, count);
  veneer_ctx_free(context);
}

static void test_failures(const char* model) {
  observer seen = {0};
  veneer_context* context = NULL;
  veneer_ctx_params open;
  veneer_img_params params = small_order();
  veneer_image* images = NULL;
  size_t count = 0;
  veneer_ctx_params_init(&open);
  open.model_path = "no/such/model.safetensors";
  CHECK(veneer_ctx_create(&open, &context) == VENEER_NOT_FOUND && context == NULL);
  CHECK(strstr(veneer_last_error(NULL), "no/such/model.safetensors") != NULL);
  open.type = "q3";
  CHECK(veneer_ctx_create(&open, &context) == VENEER_USAGE);
  open.type = NULL;
  open.tensor_type_rules = "attn";
  CHECK(veneer_ctx_create(&open, &context) == VENEER_USAGE);
  CHECK(strstr(veneer_last_error(NULL), "\"attn\"") != NULL);
  open.model_path = model;
  open.type = "q8_0";
  open.tensor_type_rules = "first_stage_model=f8_e4m3";
  CHECK(veneer_ctx_create(&open, &context) == VENEER_OK);
  veneer_ctx_free(context);
  memset(&open, 0, sizeof open); /* not prepared */
  CHECK(veneer_ctx_create(&open, &context) == VENEER_USAGE);
  CHECK(veneer_ctx_create(NULL, &context) == VENEER_USAGE);

  context = open_model(model, &seen);
  params.width = 33;
  CHECK(veneer_generate(context, &params, &images, &count) == VENEER_USAGE);
  CHECK(strstr(veneer_last_error(context), "nearest legal size") != NULL && images == NULL);
  params = small_order();
  params.steps = 0;
  CHECK(veneer_generate(context, &params, &images, &count) == VENEER_USAGE);
  params = small_order();
  params.sampler = (veneer_sampler)999;
  CHECK(veneer_generate(context, &params, &images, &count) == VENEER_USAGE);
  params = small_order();
  params.prompt = "cut \xC3";
  CHECK(veneer_generate(context, &params, &images, &count) == VENEER_USAGE);
  CHECK(veneer_generate(NULL, &params, &images, &count) == VENEER_USAGE);

  /* A caller built when the structure ended before its last fields. */
  params = small_order();
  params.struct_size = (uint32_t)offsetof(veneer_img_params, init_image);
  params.init_image = (const veneer_image*)8;
  seen.last_step = 0;
  CHECK(veneer_generate(context, &params, &images, &count) == VENEER_OK);
  veneer_images_free(images, count);
  veneer_ctx_free(context);
  veneer_ctx_free(NULL);
}

/* A folder with models is enough to find the adapters that the tests of the tiny model use. */
static void test_adapters(const char* model) {
  observer seen = {0};
  veneer_context* context = open_model(model, &seen);
  veneer_img_params params = small_order();
  veneer_image *plain = NULL, *adapted = NULL, *again = NULL;
  size_t count = 0;
  char path[1024];
  const char* json = NULL;
  veneer_adapter adapter = {path, 1.0f, INFINITY, 0};
  snprintf(path, sizeof path, "%s/adapters/lora.safetensors", model);
  params.seed = 5;
  CHECK(veneer_generate(context, &params, &plain, &count) == VENEER_OK);
  CHECK(strlen(veneer_last_receipt(context)) == 0);
  CHECK(veneer_adapters_plan(context, &adapter, 1, &json) == VENEER_OK);
  CHECK(json != NULL && strstr(json, "\"unmatched\":0") != NULL && strstr(json, "\"layer\"") != NULL);

  params.adapters = &adapter;
  params.adapter_count = 1;
  CHECK(veneer_generate(context, &params, &adapted, &count) == VENEER_OK);
  CHECK(strstr(veneer_last_receipt(context), "\"name\":\"lora\"") != NULL);
  CHECK(memcmp(plain[0].data, adapted[0].data, (size_t)plain[0].width * plain[0].height * 3) != 0);
  params.adapter_count = 0;
  CHECK(veneer_generate(context, &params, &again, &count) == VENEER_OK);
  CHECK(memcmp(plain[0].data, again[0].data, (size_t)plain[0].width * plain[0].height * 3) == 0);
  veneer_images_free(plain, 1);
  veneer_images_free(adapted, 1);
  veneer_images_free(again, 1);

  adapter.path = "no/such/adapter";
  CHECK(veneer_adapters_plan(context, &adapter, 1, &json) == VENEER_NOT_FOUND && json == NULL);
  adapter.path = path;
  adapter.multiplier = NAN;
  CHECK(veneer_adapters_plan(context, &adapter, 1, &json) == VENEER_USAGE);
  CHECK(veneer_adapters_plan(context, NULL, 1, &json) == VENEER_USAGE);
  veneer_ctx_free(context);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  test_names();
  test_devices();
  test_drawing(argv[1]);
  test_cancelling(argv[1]);
  test_failures(argv[1]);
  test_adapters(argv[1]);
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
