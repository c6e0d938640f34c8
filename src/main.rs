//! Parses the command line, runs it, and exits with the status it ended with.

use mipam::cli::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::from_args(std::env::args_os()) {
        Ok(cli) => ExitCode::from(mipam::commands::run(&cli).code()),
        // clap knows which of them are answers (--help, --version) and which are errors.
        Err(error) => {
            let code = error.exit_code();
            let _ = error.print();
            ExitCode::from(u8::try_from(code).unwrap_or(2))
        }
    }
}
