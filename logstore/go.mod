module github.com/stele-go/stele/logstore

go 1.26.0

require (
	github.com/RoaringBitmap/roaring/v2 v2.12.0
	github.com/klauspost/compress v1.17.8
	github.com/maypok86/otter/v2 v2.4.0
	github.com/stele-go/stele v0.1.0
	golang.org/x/sys v0.30.0
	golang.org/x/time v0.1.0
)

require (
	github.com/bits-and-blooms/bitset v1.24.1 // indirect
	github.com/mschoch/smat v0.2.0 // indirect
)
