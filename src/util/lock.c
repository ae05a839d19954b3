/* SPDX-License-Identifier: BSD-3-Clause */
/* What lock.h remembers of each thread in debug builds. */
#include "lock.h"

#ifdef NBDRAM_DEBUG
_Thread_local unsigned lock_held;
#endif
