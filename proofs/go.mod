module github.com/stele-go/stele/proofs

go 1.26.0
