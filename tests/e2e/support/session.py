class SqlSession:
    """One connection of any driver; every statement commits by itself."""

    def __init__(self, connection):
        self.connection = connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def run(self, statement, values=None):
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)

    def rows(self, query, values=None):
        with self.connection.cursor() as cursor:
            cursor.execute(query, values)
            return list(cursor.fetchall())
