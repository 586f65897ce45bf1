//! Compares a database's schema with what the migrations make.

use std::collections::BTreeMap;

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions, Connection, Executor, Row};

use super::{Backend, POSTGRES, SQLITE};
use crate::store::StoreError;

/// The parts of a schema, such as `column tasks.title`: the table that each belongs to, and its definition.
type Schema = BTreeMap<String, (String, String)>;

impl Backend {
    /// What is missing, different or added in the schema. Tables that aren't ours don't count.
    pub(in crate::store) async fn schema_differences(
        &self,
        connection: &mut AnyConnection,
    ) -> Result<Vec<String>, StoreError> {
        let actual = read(connection, self.schema_sql()).await?;
        Ok(differences(&self.migrated(connection).await?, &actual))
    }

    /// The schema that the migrations make, in a place that is gone afterwards.
    async fn migrated(&self, connection: &mut AnyConnection) -> Result<Schema, StoreError> {
        match self {
            Self::Embedded { .. } => {
                let mut scratch = "sqlite::memory:".parse::<AnyConnectOptions>()?.connect().await?;
                for migration in SQLITE.iter() {
                    scratch.execute(migration.sql.clone()).await?;
                }
                read(&mut scratch, self.schema_sql()).await
            }
            Self::Server { .. } => {
                let mut scratch = connection.begin().await?;
                scratch
                    .execute("CREATE SCHEMA adjutant_check; SET LOCAL search_path = adjutant_check")
                    .await?;
                for migration in POSTGRES.iter() {
                    scratch.execute(migration.sql.clone()).await?;
                }
                let schema = read(&mut scratch, self.schema_sql()).await?;
                scratch.rollback().await?;
                Ok(schema)
            }
        }
    }

    /// A row for each part: its name, its table, its definition.
    fn schema_sql(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => {
                "SELECT type || ' ' || name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL \
                 UNION ALL SELECT 'column ' || m.name || '.' || c.name, m.name, \
                 c.type || ' ' || c.\"notnull\" || ' ' || c.pk || ' ' || coalesce(c.dflt_value, '') \
                 FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c WHERE m.type = 'table'"
            }
            Self::Server { .. } => {
                "SELECT 'table ' || table_name, table_name::text, '' FROM information_schema.tables \
                 WHERE table_schema = current_schema() \
                 UNION ALL SELECT 'column ' || table_name || '.' || column_name, table_name::text, \
                 data_type || ' ' || is_nullable || ' ' || is_identity || ' ' || coalesce(column_default, '') \
                 || ' ' || coalesce(generation_expression, '') \
                 FROM information_schema.columns WHERE table_schema = current_schema() \
                 UNION ALL SELECT 'index ' || indexname, tablename::text, \
                 replace(indexdef, ' ON ' || schemaname || '.', ' ON ') \
                 FROM pg_indexes WHERE schemaname = current_schema() \
                 UNION ALL SELECT 'constraint ' || c.conname, t.relname::text, pg_get_constraintdef(c.oid, true) \
                 FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid \
                 WHERE t.relnamespace = current_schema()::regnamespace \
                 UNION ALL SELECT 'trigger ' || g.tgname, t.relname::text, pg_get_triggerdef(g.oid, true) || p.prosrc \
                 FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid JOIN pg_proc p ON p.oid = g.tgfoid \
                 WHERE NOT g.tgisinternal AND t.relnamespace = current_schema()::regnamespace"
            }
        }
    }
}

async fn read(connection: &mut AnyConnection, sql: &'static str) -> Result<Schema, StoreError> {
    let rows = sqlx::query(sql).fetch_all(connection).await?;
    let part = |row: &sqlx::any::AnyRow| {
        let definition: String = row.try_get(2)?;
        // How a definition is written depends on the version that stored it.
        let definition = definition.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
        Ok((row.try_get(0)?, (row.try_get(1)?, definition)))
    };
    rows.iter().map(part).collect()
}

fn differences(expected: &Schema, actual: &Schema) -> Vec<String> {
    let table = |name: &str| format!("table {name}");
    let mut found = Vec::new();
    for (part, (of, definition)) in expected {
        match actual.get(part) {
            // Without its table, a part is missing anyway.
            None if *part == table(of) || actual.contains_key(&table(of)) => {
                found.push(format!("missing: {part}"))
            }
            Some((_, other)) if other != definition => found.push(format!("different: {part}")),
            None | Some(_) => {}
        }
    }
    let added = actual
        .iter()
        .filter(|(part, (of, _))| !expected.contains_key(*part) && expected.contains_key(&table(of)));
    found.extend(added.map(|(part, _)| format!("not ours: {part}")));
    found
}
