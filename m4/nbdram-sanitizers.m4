dnl SPDX-License-Identifier: BSD-3-Clause
dnl NBDRAM_SANITIZERS: --enable-sanitizers=LIST, where LIST is one or more of
dnl address, undefined and thread, with commas between; thread goes alone.
dnl Sets SANITIZERS (the list, empty: none) and SANITIZER_CFLAGS, which are for
dnl compiling and linking alike.
AC_DEFUN([NBDRAM_SANITIZERS], [
AC_ARG_ENABLE([sanitizers],
	[AS_HELP_STRING([--enable-sanitizers=LIST],
		[build with address,undefined or thread sanitizer])],
	[], [enable_sanitizers=no])
SANITIZERS=
SANITIZER_CFLAGS=
AS_CASE([$enable_sanitizers],
	[no], [],
	[yes], [SANITIZERS=address,undefined],
	[address|undefined|thread|address,undefined], [
		SANITIZERS=$enable_sanitizers],
	[undefined,address], [SANITIZERS=address,undefined],
	[AC_MSG_ERROR([--enable-sanitizers=$enable_sanitizers: not one of address, undefined, address,undefined, thread])])
AS_IF([test -n "$SANITIZERS"], [
	SANITIZER_CFLAGS="-fsanitize=$SANITIZERS -fno-omit-frame-pointer"
	# What undefined finds must end the program, or no test would fail.
	AS_CASE([$SANITIZERS], [*undefined*], [
		SANITIZER_CFLAGS="$SANITIZER_CFLAGS -fno-sanitize-recover=undefined"])
	AC_MSG_CHECKING([whether $CC can link with -fsanitize=$SANITIZERS])
	save_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS $SANITIZER_CFLAGS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])], [
		AC_MSG_RESULT([no])
		AC_MSG_ERROR([$CC cannot link with $SANITIZER_CFLAGS])])
	CFLAGS=$save_CFLAGS
])
AC_SUBST([SANITIZERS])
AC_SUBST([SANITIZER_CFLAGS])
])
