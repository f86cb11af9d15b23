# SPDX-License-Identifier: Apache-2.0
# Warnings are errors in the presets (CMAKE_COMPILE_WARNING_AS_ERROR), not for who builds with another compiler or other
# flags; sanitizers and hardening by option.
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                    -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef -Wcast-qual
                    -Wimplicit-fallthrough -fno-common)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wlogical-op -Wduplicated-cond -Wformat-truncation=1)
  # At -O3 gcc 12 takes what strchr() finds in a string for a pointer to the variable that names the string.
  if(CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
    add_compile_options(-Wno-dangling-pointer)
  endif()
endif()

if(ONEIB_SANITIZE)
  # Neither sees that a variable is used which nobody has set: so it is none that could be right by chance. Of memory from malloc()
  # AddressSanitizer does the same.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
                      -ftrivial-auto-var-init=pattern)
  add_link_options(-fsanitize=address,undefined)
endif()

if(ONEIB_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(ONEIB_HARDEN)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection -fcf-protection
                      -D_FORTIFY_SOURCE=2 -fPIE)
  add_link_options(-pie -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
