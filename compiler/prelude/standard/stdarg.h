// <stdarg.h>: va_list and its macros need no header.
#pragma once
