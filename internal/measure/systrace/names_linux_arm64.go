package systrace

// ownSyscalls is empty: amd64 has every call that arm64 has.
var ownSyscalls map[int]string
