module github.com/stele-go/stele/logql

go 1.26.0

require (
	github.com/stele-go/stele v0.1.0
	github.com/stele-go/stele/logstore v0.1.0
)

require (
	github.com/RoaringBitmap/roaring/v2 v2.12.0 // indirect
	github.com/bits-and-blooms/bitset v1.24.1 // indirect
	github.com/klauspost/compress v1.17.8 // indirect
	github.com/maypok86/otter/v2 v2.4.0 // indirect
	github.com/mschoch/smat v0.2.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
	golang.org/x/time v0.1.0 // indirect
)
