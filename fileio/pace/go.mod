module github.com/stele-go/stele/fileio/pace

go 1.26.0

require golang.org/x/time v0.1.0
