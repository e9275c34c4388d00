module github.com/stele-go/stele/tools

go 1.26.0

require (
	github.com/stele-go/stele v0.1.0
	github.com/stele-go/stele/lab v0.1.0
	golang.org/x/mod v0.42.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.2.0 // indirect
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/cilium/ebpf v0.19.0 // indirect
	golang.org/x/exp v0.0.0-20260908205506-85c1c2202aba // indirect
	golang.org/x/sys v0.49.0 // indirect
)
