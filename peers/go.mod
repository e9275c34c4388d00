module github.com/stele-go/stele/peers

go 1.26.0

replace github.com/stele-go/stele => ../

require (
	github.com/cyphar/filepath-securejoin v0.7.0
	github.com/stele-go/stele v0.0.0-00010101000000-000000000000
	golang.org/x/sys v0.49.0
)

require (
	cyphar.com/go-pathrs v0.2.5 // indirect
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da // indirect
)
