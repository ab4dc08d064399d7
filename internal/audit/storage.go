package audit

import (
	"context"
	"fmt"
	"time"

	"larder/internal/db"
)

const (
	day = int64(24 * time.Hour / time.Millisecond)
	// storageDays is the number of days for which the use of the storage providers is kept.
	storageDays = 400
)

// StorageUse is the use of a storage provider on a day.
type StorageUse struct {
	Day          int64 // ms, its beginning in UTC
	ProviderID   string
	Bytes, Files int64
}

// RecordStorage stores the use of the storage providers for the present day (UTC), unless the day
// has figures already: only then it calls use, whose results need no Day.
func (l *Log) RecordStorage(ctx context.Context, use func(context.Context) ([]StorageUse, error)) error {
	today := l.Now().UnixMilli() / day
	recorded, err := hasStorageDay(l.DB.Read(ctx), today)
	if err != nil {
		return fmt.Errorf("look for the storage use of the day: %w", err)
	}
	if recorded {
		return nil
	}
	all, err := use(ctx)
	if err != nil {
		return err
	}
	if err := l.DB.Write(ctx, func(tx *db.Tx) error { return insertStorageDay(tx, today, all) }); err != nil {
		return fmt.Errorf("record the storage use of the day: %w", err)
	}
	return nil
}

// StorageHistory returns the recorded use of the storage providers on the last days days (UTC) up
// to the present one, oldest first. Days on which the service did not run are missing.
func (l *Log) StorageHistory(ctx context.Context, days int64) ([]StorageUse, error) {
	history, err := storageHistory(l.DB.Read(ctx), l.Now().UnixMilli()/day-days)
	if err != nil {
		return nil, fmt.Errorf("read the storage use of days: %w", err)
	}
	return history, nil
}
