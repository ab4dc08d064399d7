package letter

import (
	"context"
	"fmt"

	"larder/internal/db"
)

// Enabled reports whether the site settings name a mail server and mail is switched on. Otherwise
// sending fails with MailFailed.
func (s *Service) Enabled(ctx context.Context) (bool, error) {
	version, err := db.ConfigVersion(s.DB.Read(ctx))
	if err != nil {
		return false, fmt.Errorf("read the config version: %w", err)
	}
	settings, err := s.Site.Current(ctx, version)
	return settings.SendsMail(), err
}
