#include "sites.h"
void sites_add_loader(const void *address) { (void)address; }
int64_t site_find(struct thread *thread, void *const *frame, const void *address)
{ (void)thread; (void)frame; (void)address; return 0; }
void sites_forked(void) {}
