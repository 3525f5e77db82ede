// <stdlib.h>: malloc, free and abs need no header.
#pragma once
#include <sys/types.h>
