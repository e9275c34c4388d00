module github.com/stele-go/stele/peers

go 1.26.0

replace github.com/stele-go/stele => ../

require (
	github.com/cyphar/filepath-securejoin v0.7.0
	github.com/google/renameio/v2 v2.0.2
	github.com/moby/sys/atomicwriter v0.1.0
	github.com/natefinch/atomic v1.0.1
	github.com/stele-go/stele v0.0.0-00010101000000-000000000000
	golang.org/x/sys v0.49.0
)

require (
	cyphar.com/go-pathrs v0.2.5 // indirect
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/bmatcuk/doublestar/v4 v4.0.2 // indirect
	github.com/google/addlicense v1.1.1 // indirect
	github.com/moby/sys/sequential v0.6.0 // indirect
	golang.org/x/exp v0.0.0-20260908205506-85c1c2202aba // indirect
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da // indirect
	golang.org/x/sync v0.23.0 // indirect
)

tool github.com/google/addlicense
