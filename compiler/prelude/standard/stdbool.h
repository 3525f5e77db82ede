// <stdbool.h>: bool is a type of the language.
#pragma once
