module github.com/stele-go/stele

go 1.26.0

require golang.org/x/sys v0.30.0
