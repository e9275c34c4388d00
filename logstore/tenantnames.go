package logstore

// tenantNames numbers the tenants of keys and sources of batches. A name is known while a
// key, a source or an append has its number; another may get the number then. The zero
// value has none but that of "", which is 0.
type tenantNames struct {
	numbers map[string]uint32
	list    []tenantName // by number, less one
	free    []uint32
	bytes   int64
}

type tenantName struct {
	name string
	uses int
}

// tenantNameBytes is about the memory of a tenant's name beside its bytes.
const tenantNameBytes = 112

// enter returns the number of a tenant, which is known until the caller leaves it.
func (t *tenantNames) enter(name string) uint32 {
	if name == "" {
		return 0
	}
	n, ok := t.numbers[name]
	if !ok {
		n = t.add(name)
	}
	t.list[n-1].uses++
	return n
}

func (t *tenantNames) add(name string) (n uint32) {
	if t.numbers == nil {
		t.numbers = map[string]uint32{}
	}
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
		t.list[n-1] = tenantName{name: name}
	} else {
		t.list = append(t.list, tenantName{name: name})
		n = uint32(len(t.list))
	}
	t.numbers[name] = n
	t.bytes += int64(len(name)) + tenantNameBytes
	return n
}

// use adds n uses, or ends some, of a tenant that is known.
func (t *tenantNames) use(number uint32, n int) {
	if number == 0 {
		return
	}
	of := &t.list[number-1]
	if of.uses += n; of.uses > 0 {
		return
	}
	t.bytes -= int64(len(of.name)) + tenantNameBytes
	delete(t.numbers, of.name)
	*of = tenantName{}
	if t.free = append(t.free, number); len(t.numbers) == 0 {
		*t = tenantNames{} // maps do not shrink
	}
}

func (t *tenantNames) leave(number uint32) { t.use(number, -1) }

// name returns the name of a tenant that is known.
func (t *tenantNames) name(number uint32) string {
	if number == 0 {
		return ""
	}
	return t.list[number-1].name
}

// find returns the number of a tenant that is known.
func (t *tenantNames) find(name string) (number uint32, ok bool) {
	number, ok = t.numbers[name]
	return number, ok || name == ""
}
