module github.com/stele-go/stele/suites

go 1.26.0

require (
	github.com/hanwen/go-fuse/v2 v2.6.0
	github.com/klauspost/compress v1.18.7
	github.com/maypok86/otter/v2 v2.4.0
	github.com/stele-go/stele v0.1.0
	github.com/stele-go/stele/crashtest v0.1.0
	github.com/stele-go/stele/fileio/pace v0.1.0
	github.com/stele-go/stele/lab v0.1.0
	github.com/stele-go/stele/logql v0.1.0
	github.com/stele-go/stele/logstore v0.1.0
	github.com/stele-go/stele/server v0.1.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.2.0 // indirect
	github.com/RoaringBitmap/roaring/v2 v2.12.0 // indirect
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/bits-and-blooms/bitset v1.24.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/cilium/ebpf v0.19.0 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/mschoch/smat v0.2.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_golang v1.23.2 // indirect
	github.com/prometheus/client_model v0.6.2 // indirect
	github.com/prometheus/common v0.66.1 // indirect
	github.com/prometheus/procfs v0.16.1 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	golang.org/x/exp v0.0.0-20260908205506-85c1c2202aba // indirect
	golang.org/x/sys v0.35.0 // indirect
	golang.org/x/time v0.1.0 // indirect
	google.golang.org/protobuf v1.36.8 // indirect
)
