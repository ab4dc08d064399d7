package letter

import (
	"context"
	"fmt"

	"larder/internal/db"
)

// Enabled reports whether mail is configured and switched on. Otherwise sending fails.
func (s *Service) Enabled(ctx context.Context) (bool, error) {
	version, err := db.ConfigVersion(s.DB.Read(ctx))
	if err != nil {
		return false, fmt.Errorf("read the config version: %w", err)
	}
	settings, err := s.Site.Current(ctx, version)
	return settings.SendsMail(), err
}
