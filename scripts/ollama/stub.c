/* Stands in for the library that drives Intel's GPUs, which aborts where there is none. */
int ggml_backend_sycl_get_device_count(void) { return 0; }
void *ggml_backend_sycl_init(int device) { (void)device; return 0; }
void *ggml_backend_sycl_buffer_type(int device) { (void)device; return 0; }
