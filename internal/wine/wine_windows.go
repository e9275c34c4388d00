package wine

import "syscall"

// Running reports whether this process runs under Wine.
func Running() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
