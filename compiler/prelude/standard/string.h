// <string.h>: memcpy and memset need no header.
#pragma once
