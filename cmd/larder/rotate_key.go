package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"larder/internal/app"
	"larder/internal/config"
	"larder/internal/secret"
)

// rotateKey is the command `larder rotate-key`: it replaces the secret key while no server runs. A
// new key comes in an environment variable, since other users of the machine can see a command
// line.
func rotateKey(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	var next secret.Text
	var settings []string
	for _, setting := range environ {
		value, is := strings.CutPrefix(setting, app.NewKeyVariable+"=")
		if !is {
			settings = append(settings, setting)
			continue
		}
		key, err := secret.ParseKey(value)
		if err != nil {
			return fmt.Errorf("%s must be 32 random bytes in base64, as `head -c 32 /dev/urandom | base64` prints "+
				"them: %w", app.NewKeyVariable, err)
		}
		next = secret.Text(key)
	}
	cfg, words, err := config.LoadCommand(args, settings, nil)
	if err != nil {
		return err
	}
	if len(words) != 0 {
		return fmt.Errorf("larder: rotate-key takes no arguments: %w", errUsage)
	}
	done, err := app.RotateKey(ctx, cfg, deps(cfg, out, errs), next)
	if err != nil {
		return err
	}
	if done.Finished {
		fmt.Fprintln(out, "An earlier run replaced the key; this run completed the rotation.")
	} else {
		fmt.Fprintf(out, "The secret key is replaced. Re-encrypted values: %d.\n", done.Sealed)
	}
	if done.Unreadable > 0 {
		fmt.Fprintf(out, "Values that could not be decrypted with the old key: %d. Enter the credentials of stores "+
			"and of the mail server again that the administration shows as unreadable.\n", done.Unreadable)
	}
	if done.InFile {
		fmt.Fprintf(out, "The new key is in %s.\n", cfg.KeyFile())
	} else {
		fmt.Fprintf(out, "Give every server the new key as LARDER_SECRET_KEY, and remove %s.\n", app.NewKeyVariable)
	}
	_, err = fmt.Fprintln(out, "All users must sign in again. Backups go into a new directory from now on; those made "+
		"before belong to the old key.")
	return err
}
