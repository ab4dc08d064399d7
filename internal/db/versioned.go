package db

import "sync"

// VersionedValue caches one value for as long as its config version is the present one. The zero
// value is empty.
type VersionedValue[T any] struct {
	mu      sync.RWMutex
	version int64
	value   T
}

// Get returns the value for version, which the caller has just read. It calls load if the cached
// value has another version. The loaded value may be newer than version, but never older; it is
// loaded again for a later version. Errors are not cached.
func (v *VersionedValue[T]) Get(version int64, load func() (T, error)) (T, error) {
	v.mu.RLock()
	value, hit := v.value, v.version == version
	v.mu.RUnlock()
	if hit {
		return value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	v.mu.Lock()
	v.version, v.value = version, value
	v.mu.Unlock()
	return value, nil
}

// VersionedMap is VersionedValue for values by key, for at most limit of them. Use NewVersionedMap.
type VersionedMap[K comparable, T any] struct {
	limit int

	mu      sync.RWMutex
	version int64
	values  map[K]T
}

// NewVersionedMap returns an empty map that is emptied when it has reached limit values.
func NewVersionedMap[K comparable, T any](limit int) *VersionedMap[K, T] {
	return &VersionedMap[K, T]{limit: limit, values: map[K]T{}}
}

// Get returns the value of key for version, which the caller has just read, as VersionedValue.Get
// does.
func (v *VersionedMap[K, T]) Get(version int64, key K, load func() (T, error)) (T, error) {
	v.mu.RLock()
	value, hit := v.values[key]
	hit = hit && v.version == version
	v.mu.RUnlock()
	if hit {
		return value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.version != version || len(v.values) >= v.limit {
		v.version, v.values = version, map[K]T{}
	}
	v.values[key] = value
	return value, nil
}
